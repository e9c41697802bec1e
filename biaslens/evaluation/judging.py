"""Decide why answers: the local judge where it is sure, then judges' votes until the majority is certain."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from biaslens import runfile
from biaslens.engine import Request
from biaslens.errors import RunStoppedError
from biaslens.evaluation.panel import Panel
from biaslens.evaluation.prompting import judge_messages, judge_params, read_reply, request_seed
from biaslens.oracles import RULES, screen, why
from biaslens.oracles.why import Reply, decide_votes, majority_threshold, votes_needed
from biaslens.runfile import Answer, PanelVotes, PlannedVote, Store, ToJudge, VoteCount
from biaslens.schema import Outcome, Verdict, Vote, content_hash

FIRST_VOTES = 20
"""A judge that has given so many votes and no usable one is asked no more."""

NO_MAJORITY = "no majority"
"""Reason of a verdict where the votes have come to nothing."""

_PAGE = 4096
_REPLY_SHOWN = 80


def screen_answers(
    store: Store,
    panel: Panel,
    *,
    progress: Callable[[int, Mapping[Outcome, int]], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Counter[Outcome]:
    """Decide why answers without asking anybody: by rule where nothing was said, else by the local judge where sure.

    Streams: a page of answers is decided and committed before the next is read. What was decided stays decided.

    Parameters
    ----------
    store
        The run file, open for writing.
    panel
        With `Panel.screened_only` the local judge decides all; with `Panel.screen` those of which it is so sure;
        otherwise only the rules decide.
    progress
        Told after each page how many answers were read and the outcomes so far.
    stop
        Asked after each page whether to stop early.

    Returns
    -------
    Counter
        The outcomes decided.
    """
    judge = screen.load() if panel.screened_only or panel.screen is not None else None
    sure = 0.5 if panel.screen is None else panel.screen
    outcomes: Counter[Outcome] = Counter()
    last, read = "", 0
    while True:
        rows = runfile.undecided(store, panel.name, after=last, most=_PAGE)
        with store.transaction():
            for_judge = _by_rules(store, rows, panel, outcomes)
            if judge is not None and for_judge:
                _by_screen(store, for_judge, panel, judge, sure=sure, outcomes=outcomes)
        read += len(rows)
        if progress is not None:
            progress(read, outcomes)
        if len(rows) < _PAGE or stop():
            return outcomes
        last = rows[-1].key


def _by_rules(
    store: Store, rows: Sequence[ToJudge], panel: Panel, outcomes: Counter[Outcome]
) -> list[ToJudge]:  # fmt: skip
    # `evaluate` decides these when they arrive; imported answers were never looked at.
    left = []
    for row in rows:
        verdict = why.prescreen(row.answer, row.question, finish_reason=row.finish_reason)
        if verdict is None:
            left.append(row)
        else:
            runfile.save_verdict(store, row.key, verdict, panel=panel.name, oracle=RULES)
            outcomes[verdict.outcome] += 1
    return left


def _by_screen(
    store: Store,
    rows: Sequence[ToJudge],
    panel: Panel,
    judge: screen.Screen,
    *,
    sure: float,
    outcomes: Counter[Outcome],
) -> None:
    # The cut makes shares right where everything is decided; how sure it is, is told from a half.
    cut = judge.cut if panel.screened_only else 0.5
    found = judge.probabilities([row.question for row in rows], [row.answer for row in rows])
    probabilities = {row.key: float(value) for row, value in zip(rows, found, strict=True)}
    runfile.save_screened(store, judge.name, probabilities)
    for key, value in probabilities.items():
        if max(value, 1 - value) >= sure:
            outcome = Outcome.BIASED if value >= cut else Outcome.UNBIASED
            verdict = Verdict(outcome, f"probability {value:.3f}")
            runfile.save_verdict(store, key, verdict, panel=panel.name, oracle=judge.name)
            outcomes[outcome] += 1


class Ballots:
    """The votes of a panel's models and their order: each model once, then each again.

    Parameters
    ----------
    panel
        Who judges.
    store
        The run file. Votes that fail from now on are not open any more to these ballots.
    """

    def __init__(self, panel: Panel, store: Store) -> None:
        self.panel = panel
        self._name = panel.name
        self._ballots = [
            (panel.ballot(judge), number)
            for number in range(1, panel.votes_per_judge + 1)
            for judge in panel.models
        ]  # fmt: skip
        ballots = list(dict.fromkeys(ballot for ballot, _ in self._ballots))
        self._votes = PanelVotes(store, self._name, ballots, panel.votes_per_judge)
        self._store = store
        self._oracle = "judges: " + ", ".join(panel.models)

    @property
    def asked(self) -> int:
        """Votes that a full panel gives."""
        return len(self._ballots)

    def call(self) -> int:
        """Plan the next votes of every why answer that is not decided; the number of votes now open.

        Only votes that cannot be spared are planned: of three, two first. Votes that another panel has asked for
        count, and decide where they suffice.
        """
        undecided = runfile.undecided_keys(self._store, self._name)
        given = self._votes.by_response()
        with self._store.transaction():
            for key in undecided:
                self._call(key, given.get(key, {}))
        return sum(self.count_open(judge) for judge in self.panel.models)

    def _call(self, key: str, planned: dict[tuple[str, int], Vote | None]) -> None:
        votes = [vote for vote in planned.values() if vote is not None]
        if self.settle(key, votes) is not None or len(votes) < len(planned):
            return
        left = [ballot for ballot in self._ballots if ballot not in planned]
        runfile.save_votes(
            self._store,
            [
                PlannedVote(content_hash(ballot, key, number), key, ballot, number)
                for ballot, number in left[: votes_needed(votes, self.asked)]
            ],
        )

    def settle(self, key: str, votes: Sequence[Vote] | None = None) -> Outcome | None:
        """Store the verdict on a response, within a transaction, once its votes make it certain."""
        votes = self._votes.on(key) if votes is None else votes
        outcome = decide_votes(votes, self.asked)
        if outcome is not None:
            agreed = outcome is not Outcome.INVALID or votes.count(Vote.INVALID) >= majority_threshold(self.asked)
            verdict = Verdict(outcome, "majority" if agreed else NO_MAJORITY)
            runfile.save_verdict(self._store, key, verdict, panel=self._name, oracle=self._oracle)
        return outcome

    def count_open(self, judge: str) -> int:
        """Number of planned votes that a judge has not given, on answers that are not decided."""
        return self._votes.count_open(self.panel.ballot(judge))

    def requests(self, reader: Store, judge: str) -> Iterator[Request]:
        """Requests for the votes that `count_open` counts, read page by page."""
        prompt = self.panel.prompt
        for key, question, answer in self._votes.open(reader, self.panel.ballot(judge)):
            params = judge_params(self.panel.params, prompt, request_seed(self.panel.seed, key))
            yield Request(key=key, messages=judge_messages(question, answer, prompt), params=params)

    def unread(self) -> list[tuple[str, str]]:
        """Keys and texts of replies whose votes are not in."""
        return self._votes.unread()

    def count(self, judge: str) -> VoteCount:
        """Votes of a judge, of all starts."""
        return runfile.count_votes(self._store, self.panel.ballot(judge))

    def require_usable(self) -> None:
        """Refuse a panel without a single usable vote.

        The votes are kept. Verdicts that only say that votes came to nothing are taken back, so that these answers wait
        for a judge, and do not look as if one had called them invalid.

        Raises
        ------
        RunStoppedError
            When one judge's `FIRST_VOTES`, or all votes that were given, are unusable.
        """
        counts = {judge: self.count(judge) for judge in self.panel.models}
        given = sum(count.given for count in counts.values())
        silent = [judge for judge, count in counts.items() if hopeless(count)]
        if given and not any(count.usable for count in counts.values()):
            silent = [judge for judge, count in counts.items() if count.given]
        if not silent:
            return
        judge = silent[0]
        reply = runfile.last_reply(self._store, self.panel.ballot(judge))
        runfile.take_back_verdicts(self._store, panel=self._name, reason=NO_MAJORITY)
        raise RunStoppedError(
            f"{judge}: none of its {counts[judge].given} votes is usable, the last reply was {_shown(reply)}; stopped, "
            "every reply is kept. Name another --judge, or let it say more (--judge-max-tokens)"
        )


def hopeless(count: VoteCount) -> bool:
    """Whether so many votes have been given without a usable one that asking on is a waste."""
    return count.given >= FIRST_VOTES and not count.usable


def _shown(reply: str) -> str:
    text = " ".join(reply.split())
    return json.dumps(text if len(text) <= _REPLY_SHOWN else text[:_REPLY_SHOWN] + "…", ensure_ascii=False)


class VoteSettler:
    """Stores the votes of judges' replies, and a verdict once it is certain.

    Attributes
    ----------
    outcomes
        How many why answers of this start came to each outcome.
    count
        Votes of the judge so far.
    """

    def __init__(self, ballots: Ballots, count: VoteCount | None = None) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.count = count or VoteCount(0, 0)
        self._ballots = ballots

    def wants(self, request: Request) -> bool:
        """Whether another request of this judge is worth its price."""
        del request
        return not hopeless(self.count)

    def look_up(self, store: Store, answers: Sequence[Answer]) -> list[tuple[str, str]]:
        """Keys and texts of the replies."""
        return [(answer.key, answer.text) for answer in answers]

    def decide(self, found: Sequence[tuple[str, str]]) -> list[tuple[str, Reply]]:
        """Read the votes."""
        return [(key, read_reply(text, self._ballots.panel.prompt)) for key, text in found]

    def store(self, store: Store, decided: Sequence[tuple[str, Reply]]) -> None:
        """Insert the votes, and the verdicts they decide."""
        for key, reply in decided:
            self.count = VoteCount(self.count.given + 1, self.count.usable + (reply.vote is not Vote.UNUSABLE))
            response_key = runfile.give_vote(store, key, reply.vote, reply.reason)
            outcome = self._ballots.settle(response_key)
            if outcome is not None:
                self.outcomes[outcome] += 1

    def catch_up(self, store: Store) -> None:
        """Read the replies that an earlier start has stored and not read."""
        found = self._ballots.unread()
        with store.transaction():
            self.store(store, self.decide(found))
