"""The run file: the only place that knows SQL. Whoever reads never writes."""

# fmt: off
# isort: off
from biaslens.runfile._batches import (
    COLLECTED, MADE, SUBMITTED, SUBMITTING, UPLOADED, BatchRow, add_batch, batch_keys, batches, forget_unsent, keys_out,
    note_batch,
)
from biaslens.runfile._labels import (
    JudgedTrial, LabelCounts, LabelRow, LabelledItem, SampledRow, all_imported_whole, annotators_labels, candidates,
    count_labels, import_faults, imported_files, judged_trials, labelled_items, published_answers, samples,
    save_imported, save_labels, save_published, shown, verdicts_on_sampled,
)
from biaslens.runfile._merge import Clash, clashes, take_in, tidy
from biaslens.runfile._plan import (
    Answered, PlannedResponse, WantedAnswers, answer_texts, answered, answered_keys, conditions, count_unanswered,
    cut_off, forget_unanswered, has_answers, has_why_answers, last_failure, most_trials, personas, planned_keys,
    retried, retry_limits, save_plan, save_retries, save_verdicts, stored_keys, to_ask, without_verdict,
)
from biaslens.runfile._reading import (
    JudgeVote, QuestionRow, RoleRow, Stopped, Usage, answer_lengths, answer_times, decided_answers, example,
    has_labels, judge_votes, mirrors, panels, question_rows, question_texts, questions, response_rows, roles,
    ruled_answers, same_wordings, stopped_answers, trials, unusable_votes, usage_of_answers, usage_of_retried,
    usage_of_votes, vote_lengths, vote_rows,
)
from biaslens.runfile._requests import (
    GeneratedItem, GenerationRequest, WantedResponse, last_batch, provenance, replies, save_batch, save_items,
    save_scores, save_wanted, stored_responses, stored_scores,
)
from biaslens.runfile._schema import (
    ACTIVE_PANEL, ASSESSMENT_TABLES, CUT_OFF, EVALUATION_TABLES, GENERATION_TABLES, IMPORT_TABLES, PUBLISHED_PANEL,
    RULES_PANEL,
)
from biaslens.runfile._store import (
    Answer, Failure, Store, open_to_write, reading, reading_evaluation,
)
from biaslens.runfile._thoughts import (
    Thought, ThoughtCount, ThoughtVote, count_thoughts, count_undecided_thoughts, give_thought_vote,
    open_thought_votes, save_thought_verdicts, save_thought_votes, thought_counts, thought_votes_to_ask,
    thoughts_to_judge, unread_thought_votes, unusable_thought_votes, votes_on_thought,
)
from biaslens.runfile._votes import (
    Ballot, PanelVotes, PlannedVote, ToJudge, VoteCount, count_outcomes, count_undecided, count_votes, decided_keys,
    give_vote, last_reply, save_panel, save_screened, save_votes, take_back_verdicts, undecided, undecided_keys,
    votes_on_undecided, votes_to_ask,
)
from biaslens.runfile._viewing import (
    ViewedQuestion, WordIndex, failure_of, screen_probability, label_outcomes, screen_probabilities, thought_of,
    viewed_answers, viewed_labels, viewed_questions, viewed_texts, viewed_votes,
)
