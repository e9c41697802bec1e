"""Assess generated texts: ask what is to be asked, score what is to be scored, measure in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import combinations
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.engine import Batching, Exchange, Session, ordinary
from biaslens.errors import InputError, RunInterruptedError, RunWaitingError
from biaslens.models import provider_of
from biaslens.models._batches import require_batchable
from biaslens.models.endpoints import key_for
from biaslens.runfile import ASSESSMENT_TABLES, Store
from biaslens.settings import Settings, load_settings
from biaslens.stats.comparison import exchanged_at_random
from biaslens.stats.resampling import Sums
from biaslens.usecase._asking import INTERRUPTED, Asking, StoredResponses, UseCasePlan, generate
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._offline import looks_english
from biaslens.usecase._pairs import Sides, blocks_in, counterfactual_measures
from biaslens.usecase._reading import (
    Response,
    Responses,
    ResponseTable,
    Series,
    Table,
    name_of,
    read_clusters,
    read_prompts,
)
from biaslens.usecase._result import FEW, Assessment, Measure, Standout, Worst, corrected, record
from biaslens.usecase._scoring import (
    DEFAULTS,
    AnyScorer,
    Kind,
    RemoteScorer,
    ask_scorers,
    is_remote,
    open_scorer,
    score_texts,
    unanswered,
)
from biaslens.usecase._spec import (
    RUN_FILE,
    AssessmentWatcher,
    DecisionPath,
    Recorder,
    Score,
    TextOptions,
    TextSpec,
    check_unawareness,
    generation_path,
    groups_compared,
)
from biaslens.usecase._tokens import Mentions, Tokens, marked, of_attribute, tokenise
from biaslens.usecase.metrics._association import Cooccurrences, cooccurrences, sa_sums
from biaslens.usecase.metrics._scores import exceedance_sums

Units = NDArray[np.intp]

_EMBEDDED = "local/smollm2"
_AGAIN = "the same command asks {} again. What is shown rests on the others."
_LOWER = "lower is fairer"
_KINDS: dict[Kind, str] = {"toxicity": "T", "stereotype": "S"}
"""What is scored, and its letter in the names of metrics."""
_CUT_OFF, _WITHHELD = "cut off at the limit of tokens", "withheld by a filter"


def assess_texts(
    source: Table,
    options: TextOptions | None = None,
    *,
    settings: Settings | None = None,
    watcher: AssessmentWatcher | None = None,
    recorder: Recorder | None = None,
    exchange: Exchange | Batching | None = None,
) -> Assessment:
    """Assess a use case that generates text: prompts to be asked, or responses that are there.

    With a model the source holds prompts: a table with a column ``prompt``. Without one it holds responses: see
    `ResponseTable`. The watcher watches requests and scores being made; the recorder hears every score, so that the
    responses behind a number can be looked at. Raises InputError when the table, a name, or an option cannot be used;
    RunInterruptedError when it was told to stop (the first Ctrl-C waits for answers in flight, a second one drops
    them); RunError when asking or scoring cannot go on. Everything answered is kept. Through an `exchange` models are
    asked by files, judges that score among them; it is a RunWaitingError while answers are awaited.
    """
    assessing = _Assessing(source, options or TextOptions(), settings, watcher, recorder, exchange=exchange)
    return ordinary(assessing.assess)()


def plan_texts(source: Table, options: TextOptions, *, settings: Settings | None = None, batch: bool = False) -> Asking:
    """Count what `assess_texts` would ask the model, and its price, in batches or not; asks nothing, needs no key."""
    assessing = _Assessing(source, options, settings)
    if options.model is None:
        raise InputError(
            "there is nothing to plan without a model: the responses given are scored, and no model is asked"
        )
    provider_of(options.model)
    return assessing.plan()[0].asking(assessing.settings, batch=batch)


class _Assessing:
    """One session of an assessment of texts; the parameters are those of `assess_texts`."""

    def __init__(
        self,
        source: Table,
        options: TextOptions,
        settings: Settings | None,
        watcher: AssessmentWatcher | None = None,
        recorder: Recorder | None = None,
        *,
        exchange: Exchange | Batching | None = None,
    ) -> None:
        self.exchange = exchange
        self.source, self.options, self.settings = source, options, settings or load_settings()
        self.watcher, self.recorder = watcher or AssessmentWatcher(), recorder or Recorder()
        self.unanswered: set[str] = set()
        self.by_batch: list[RemoteScorer] = []  #: scorers whose every score was asked for in batches
        self.lexicon = load_words(options.attributes, own=options.words, names=options.names)
        self.scorers: dict[Kind, AnyScorer] = {
            kind: open_scorer(kind, options.scorer(kind), self.settings) for kind in DEFAULTS
        }
        for scorer in filter(is_remote, self.scorers.values()):
            if options.out is None:
                raise InputError(f"{scorer.name} needs a folder for its answers; give out")
            # What is missing is found out now, and not once the model has been asked for hours.
            (require_batchable if isinstance(exchange, Exchange) else key_for)(scorer.model, self.settings)

    async def assess(self) -> Assessment:
        options, name, wanted, missing = self.options, name_of(self.source), 0, 0
        if options.model is None:
            named = options.attributes or ()
            responses: Responses = ResponseTable(self.source, attribute=named[0] if len(named) == 1 else "")
            found = Index(responses)
            path = self._decide(found.prompts)
            source = f"responses of {name}"
        else:
            plan, path = self.plan()
            wanted, missing = await generate(plan, settings=self.settings, watcher=self.watcher, exchange=self.exchange)
            responses = StoredResponses(plan.run)
            found = Index(responses)
            source = f"prompts of {name}, answered by {options.model}"
        words, scorers = self.lexicon, self.scorers
        spec = TextSpec(
            options=options,
            path=path,
            lexicon=words,
            compared=path.compared,
            scorers=scorers,
            clusters=self._clusters(),
        )
        with ExitStack() as stack:
            # Scores that were paid for, or took long, are kept in the run file.
            folder = options.out or Path(stack.enter_context(TemporaryDirectory()))
            store = stack.enter_context(Store(folder / RUN_FILE, write=True, tables=ASSESSMENT_TABLES))
            score = partial(self._score, store)
            if isinstance(self.exchange, Batching):
                await self._score_in_batches(self.exchange, store, partial(measure_texts, responses, found, spec))
            measures, examples, warnings = await measure_texts(responses, found, spec, score, self.recorder)
        if self.exchange is not None and self.exchange.waiting:
            raise RunWaitingError(f"{len(self.unanswered):,} scores are missing; nothing is assessed yet")
        return Assessment(
            task=str(options.task),
            source=source,
            counts=found.shown(),
            steps=path.steps,
            families=path.families,
            mentions=path.mentions,
            measures=measures,
            examples=examples,
            warnings=[*self._warnings(wanted, missing), *warnings],
            record=self._record(path.compared),
            missing=missing + len(self.unanswered),
        )

    def _clusters(self) -> dict[str, str] | None:
        column = self.options.cluster
        return None if column is None else read_clusters(self.source, column, numbered=self.options.model is not None)

    def plan(self) -> tuple[UseCasePlan, DecisionPath]:
        """What the model is to be asked, and which metrics apply."""
        prompts = read_prompts(self.source, limit=self.options.limit)
        path = self._decide(prompts)
        asked = path.compared if path.applies("counterfactual") else {}
        return UseCasePlan(self.options, prompts, asked, self.lexicon), path

    def _decide(self, prompts: Mapping[str, str]) -> DecisionPath:
        options = self.options
        # Without prompts it is not known whether they mention groups.
        found = check_unawareness(prompts.values(), self.lexicon) if prompts else None
        path = generation_path(
            mentions=None if found is None else str(found),
            satisfied=None if found is None else found.satisfied,
            invariance=options.invariance,
            wanted=options.families,
            task=options.task,
        )
        compared = groups_compared(self.lexicon, options.compare, found, named=options.attributes is not None)
        if path.applies("stereotype") or path.applies("counterfactual"):
            path.compared = compared
        path.mentions = [] if found is None else found.mentions(list(prompts))
        return path

    async def _score_in_batches(
        self, batching: Batching, store: Store, measure: Callable[[Score, Recorder], Awaitable[object]]
    ) -> None:
        """Ask for all scores of a model at once, where it has batches: measuring asks for those of a part at a time."""
        for scorer in filter(is_remote, self.scorers.values()):
            with suppress(InputError):
                require_batchable(scorer.model, self.settings)
                self.by_batch.append(scorer)
        texts: dict[RemoteScorer, dict[str, None]] = {scorer: {} for scorer in self.by_batch}

        async def note(scorer: AnyScorer, part: Sequence[str]) -> NDArray[np.float64]:
            if is_remote(scorer) and scorer in texts:
                texts[scorer].update(dict.fromkeys(part))
            return np.full(len(part), np.nan)

        if texts:
            await measure(note, Recorder())
        for model in dict.fromkeys(scorer.model for scorer in texts):
            async with Session.open(
                lambda: nullcontext(store), settings=self.settings, observer=self.watcher, exchange=batching
            ) as session:
                wanted = [each for each in texts.items() if each[0].model == model]
                await ask_scorers(wanted, model, session=session, pace=self.options.scorer_pace)
            if session.stop.is_set():
                raise RunInterruptedError(INTERRUPTED)

    async def _score(self, store: Store, scorer: AnyScorer, texts: Sequence[str]) -> NDArray[np.float64]:
        # Only here: elsewhere there is nothing to wait for, and Ctrl-C ends it at once.
        by_files = self.exchange if isinstance(self.exchange, Exchange) else None
        async with Session.open(
            lambda: nullcontext(store), settings=self.settings, observer=self.watcher, exchange=by_files
        ) as session:
            pace, done = self.options.scorer_pace, self.watcher.scored
            ask = scorer not in self.by_batch
            scores = await score_texts(texts, scorer, session=session, pace=pace, done=done, ask=ask)
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
            "params": {name: said for name, said in options.params.record().items() if said is not None},
        }
        return record(
            model=options.model,
            **(asked if options.model else {}),
            groups={name: list(groups) for name, groups in compared.items()},
            scorers={kind: scorer.name for kind, scorer in self.scorers.items()},
            word_lists={name: words.source for name, words in self.lexicon.attributes.items() if name in compared},
            threshold=options.threshold,
            variant=options.variant,
            cluster=options.cluster,
            resampling=asdict(options.resampling),
        )


class Index:
    """What is known of the responses before any is measured; InputError when none says anything.

    The use case's own ones are those of the series `population`: original, or, where there are none, to counterfactual
    prompts. `units` and `prompts` have the number of each of its prompts, and the text where it is known, by id;
    `counts` how many responses there are, withheld, empty or cut off; `groups` those with responses, by attribute.
    """

    def __init__(self, responses: Responses) -> None:
        units: dict[Series, dict[str, int]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}, Series.NO_EFFECT: {}}
        prompts: dict[Series, dict[str, str]] = {series: {} for series in units}
        self.groups: dict[str, dict[str, None]] = {}
        self.counts: Counter[str] = Counter()
        for response in (response for part in responses.parts() for response in part):
            empty = not response.filtered and not response.text.strip()
            self.counts.update(responses=1, empty=empty, usable=response.usable)
            self.counts.update({_WITHHELD: response.filtered, _CUT_OFF: response.cut})
            if response.group:
                self.groups.setdefault(response.attribute, {}).setdefault(response.group)
            of_series = units[response.series]
            of_series.setdefault(response.prompt_id, len(of_series))
            if response.prompt is not None:
                prompts[response.series].setdefault(response.prompt_id, response.prompt)
        if not self.counts["usable"]:
            count = self.counts["responses"]
            raise InputError(f"none of the {count:,} responses has any text; there is nothing to assess")
        self.population = Series.ORIGINAL if units[Series.ORIGINAL] else Series.COUNTERFACTUAL
        self.units, self.prompts = units[self.population], prompts[self.population]

    def counts_in(self, response: Response) -> bool:
        return response.series is self.population and not response.filtered

    def shown(self) -> dict[str, int]:
        """Counts for people: responses, prompts, and what else there is."""
        others = {what: self.counts[what] for what in (_WITHHELD, "empty", _CUT_OFF) if self.counts[what]}
        return {"responses": self.counts["responses"], "prompts": len(self.units)} | others


async def measure_texts(
    responses: Responses, index: Index, spec: TextSpec, score: Score, recorder: Recorder
) -> tuple[list[Measure], dict[str, list[Standout]], list[str]]:
    """Measure everything that applies, in one pass over the responses: measures, examples by heading, and warnings."""
    count, sides, foreign = len(index.units), Sides(), 0
    counterfactual = spec.path.applies("counterfactual")
    exceeding = [_Exceeding(kind, spec) for kind in _KINDS if spec.path.applies(kind)]
    associating = []
    if spec.path.applies("stereotype"):
        associating = [_Associating(name, groups, count, spec) for name, groups in spec.compared.items()]
    for part in responses.parts():
        if own := [response for response in part if index.counts_in(response)]:
            units = np.array([index.units[response.prompt_id] for response in own], dtype=np.intp)
            foreign += sum(not looks_english(response.text) for response in own)
            scores = {str(each.kind): (await each.add(own, units, score)).tolist() for each in exceeding}
            recorder.responses(own, scores)
            if associating:
                tokens = tokenise(response.text for response in own)
                mentions = spec.lexicon.match(tokens)
                for each in associating:
                    each.add(tokens, mentions, units)
        recorder.responses([response for response in part if not index.counts_in(response)], {})
        if counterfactual:
            sides.add(part)
    blocks = blocks_in(index.units, spec.clusters)
    measures = [measure for each in exceeding for measure in each.measures(count, blocks)]
    measures += [measure for each in associating for measure in each.measures(blocks)]
    examples = {f"Highest {each.kind}": each.worst.examples() for each in exceeding}
    warnings = list(_warnings(index, spec, foreign=foreign, counterfactual=counterfactual))
    if counterfactual and index.groups:
        compared = {name: _there(spec, name, groups) for name, groups in index.groups.items()}
        warnings += _not_compared(index, compared)
        found, more = await counterfactual_measures(sides, replace(spec, compared=compared), score, recorder)
        measures, examples = [*measures, *found], examples | more
    return corrected(measures), examples, warnings


def _there(spec: TextSpec, attribute: str, there: Collection[str]) -> list[str]:
    """Groups to compare of those with responses: those compared anyway or in no word list; all where these are few."""
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
    if cut := index.counts[_CUT_OFF]:
        yield f"{_responses(cut, 'was', 'were')} {_CUT_OFF}; what would have come after is not counted."
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


class _Exceeding:
    """How high the scores of responses go: expected maximum, probability and fraction."""

    def __init__(self, kind: Kind, spec: TextSpec) -> None:
        self.kind, self.worst, self._spec = kind, Worst(), spec
        self._scores: list[NDArray[np.float64]] = []
        self._units: list[Units] = []

    async def add(self, responses: Sequence[Response], units: Units, score: Score) -> NDArray[np.float64]:
        scores = await score(self._spec.scorers[self.kind], [response.text for response in responses])
        self._scores.append(scores)
        self._units.append(units)
        for response, found in zip(responses, scores, strict=True):
            if found > 0 and self.worst.wants(found):
                prompts = () if response.prompt is None else (response.prompt,)
                why = f"{self.kind} {found:.2f}"
                self.worst.add(Standout(why=why, score=found, prompts=prompts, texts=(response.text,)))
        return scores

    def measures(self, count: int, blocks: Units | None) -> Iterator[Measure]:
        """The three metrics over `count` prompts, of clusters where these have any."""
        scores = np.concatenate([np.empty(0), *self._scores])
        units = np.concatenate([np.empty(0, dtype=np.intp), *self._units])
        options, short = self._spec.options, _KINDS[self.kind]
        missing = int(np.isnan(scores).sum())
        unscored = f"{missing:,} of {len(scores):,} responses could not be scored" if missing else ""
        note = "; ".join(filter(None, [unscored, _number_of_responses(np.bincount(units))]))
        what: dict[str, Any] = {"family": self.kind, "direction": _LOWER, "note": note, "unit": _unit(blocks)}
        what["scorer"] = self._spec.scorers[self.kind].name
        names = (f"Expected maximum (EM{short})", f"Probability ({short}P)", f"Fraction ({short}F)")
        found = exceedance_sums(scores, units, count, options.threshold, variant=options.variant)
        for metric, sums in zip(names, found, strict=True):
            estimate = options.resampling.estimate(_clustered(sums, blocks), share=True)
            yield Measure(metric=metric, estimate=estimate, units=estimate.items, **what)


def _clustered(sums: Sums, blocks: Units | None) -> Sums:
    return sums if blocks is None else sums.merged(blocks)


def _unit(blocks: Units | None) -> str:
    return "prompts" if blocks is None else "clusters"


def _number_of_responses(numbers: Units) -> str:
    """How many responses there are to a prompt: a maximum over more of them is higher."""
    numbers = numbers[numbers > 0]
    if not len(numbers):
        return ""
    fewest, most = int(numbers.min()), int(numbers.max())
    if most == 1:
        return "one response to each prompt: a maximum over one"
    if fewest == most:
        return f"{most:,} responses to each prompt"
    return f"{fewest:,} to {most:,} responses a prompt: maximum and probability are higher where there are more"


class _Associating:
    """How words go together with the groups of one attribute: COBS of each pair, and SA of all of them."""

    def __init__(self, attribute: str, groups: Sequence[str], count: int, spec: TextSpec) -> None:
        words = spec.lexicon.attributes[attribute]
        self.attribute, self.groups = attribute, tuple(groups)
        self._count, self._spec = count, spec
        self._number = list(spec.lexicon.attributes).index(attribute)
        self._group_numbers = [words.groups.index(group) for group in groups]
        langfair = spec.options.variant == "langfair"
        self._sizes = [len(words.words_by_group[group]) for group in groups] if langfair else None
        self._mentions = np.zeros(len(groups), dtype=np.int64)
        nothing = tokenise([])
        self._near, self._with = self._counted(nothing, spec.lexicon.match(nothing), np.empty(0, dtype=np.intp))

    def add(self, tokens: Tokens, mentions: Mentions, units: Units) -> None:
        near, together = self._counted(tokens, mentions, units)
        self._near = replace(near, sums=self._near.sums + near.sums)
        self._with = replace(together, sums=cast(Any, self._with.sums) + together.sums)

    def _counted(self, tokens: Tokens, mentions: Mentions, units: Units) -> tuple[Cooccurrences, Sums]:
        places = of_attribute(mentions, self._number, self._group_numbers)
        self._mentions += np.bincount(places.group[places.group >= 0], minlength=len(self.groups))
        given = (marked(tokens, places), units, self._count)
        count, targets = len(self.groups), self._spec.options.targets
        together = sa_sums(*given, groups=count, targets=targets, langfair_sizes=self._sizes)
        return cooccurrences(*given, groups=count, targets=targets), together

    def measures(self, blocks: Units | None) -> Iterator[Measure]:
        counts = zip(self.groups, self._mentions, strict=True)
        note = ", ".join(f"{count:,} words of {group}" for group, count in counts)
        if not self._mentions.all():
            note += "; there is no test, for a group is never named"
        for a, b in combinations(range(len(self.groups)), 2):
            pair = _clustered(self._near.pair(a, b, variant=self._spec.options.variant), blocks)
            naming = replace(pair, sums=cast(Any, pair.sums)[:, :-1])  # the last column only counts words
            words = f"{note}; mean over {len(self._near.by_word(a, b)):,} target words"
            what: dict[str, Any] = {"groups": (self.groups[a], self.groups[b]), "note": words, "unit": _unit(blocks)}
            yield self._measure("COBS", pair, naming, direction="0 is fair", bounds=(-inf, inf), **what)
        # SA is above 0 without any bias.
        seed = self._spec.options.resampling.seed
        together = _clustered(self._with, blocks)
        baseline = exchanged_at_random(together, seed=seed)
        most = 1 - 1 / len(self.groups)
        what = {"groups": self.groups, "note": note, "baseline": baseline, "unit": _unit(blocks)}
        yield self._measure("SA", together, together, direction=_LOWER, bounds=(0.0, most), **what)

    def _measure(self, metric: str, sums: Sums, naming: Sums, **what: Any) -> Measure:  # noqa: ANN401 - fields of Measure
        resampling = self._spec.options.resampling
        # Prompts that name a single group bring it into every response: that says nothing about the model.
        named = [count for group, count in zip(self.groups, self._mentions, strict=True) if group in what["groups"]]
        tested = all(named)
        unsigned = replace(sums, statistic=lambda totals: np.abs(sums.statistic(totals)))
        return Measure(
            family="stereotype",
            metric=metric,
            attribute=self.attribute,
            estimate=resampling.estimate(sums),
            units=int(naming.adding.sum()),
            p=resampling.p(unsigned) if tested else nan,
            test=f"that the words of the groups can be exchanged, {what['unit'][:-1]} by {what['unit'][:-1]}"
            if tested
            else "",
            **what,
        )
