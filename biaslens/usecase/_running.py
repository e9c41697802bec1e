"""Assess generated texts: the way to the metrics, one pass over the responses, the measures."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.engine import Store
from biaslens.engine.interrupt import graceful_interrupt
from biaslens.engine.record import this_command
from biaslens.errors import InputError, RunInterruptedError
from biaslens.models import provider_of
from biaslens.models.endpoints import key_variable
from biaslens.settings import Settings
from biaslens.usecase._asking import TABLES, Asking, AskingSpec, Generated, StoredResponses, asking, generate_async
from biaslens.usecase._framework import DecisionPath, Unawareness, UseCase, check_unawareness, generation_path
from biaslens.usecase._lexicon import Lexicon, load_words
from biaslens.usecase._opposed import Cells, counterfactual_measures
from biaslens.usecase._population import Index, _Population, index
from biaslens.usecase._reading import Responses, ResponseTable, Table, name_of, read_prompts
from biaslens.usecase._result import FEW, Assessment, GroupMention, Measure, Standout, corrected
from biaslens.usecase._spec import RUN_FILE, AssessmentWatcher, Recorder, Score, TextOptions, TextSpec
from biaslens.usecase.scorers._scoring import DEFAULTS, AnyScorer, Kind, is_remote, open_scorer, score_texts, unanswered
from biaslens.version import __version__

_MOST_WORDS = 3


@dataclass(frozen=True, kw_only=True)
class MeasuredTexts:
    """What the responses come to."""

    measures: Sequence[Measure]
    examples: Mapping[str, Sequence[Standout]]
    warnings: Sequence[str]


def find_path(
    prompts: Collection[str],
    lexicon: Lexicon,
    *,
    task: UseCase,
    invariance: bool,
    wanted: Collection[str] | None,
) -> tuple[DecisionPath, Unawareness | None]:
    """DecisionPath the decision framework for these prompts; without any, whether they mention groups is not known."""
    found = check_unawareness(prompts, lexicon) if prompts else None
    path = generation_path(
        mentions=None if found is None else in_words(found),
        satisfied=None if found is None else found.satisfied,
        invariance=invariance,
        wanted=wanted,
        task=task,
    )
    return path, found


def in_words(found: Unawareness) -> str:
    """What was found in the prompts, in a line.

    Examples
    --------
    >>> from biaslens.usecase import load_words
    >>> in_words(check_unawareness(["Is she qualified?", "Is it raining?"], load_words(["gender"])))
    '1 of 2 prompts: gender in 1 (she 1)'
    """
    if found.satisfied:
        names = ", ".join(name.replace("_", " ") for name in found.attributes)
        return f"none of {found.prompts:,} prompts has a word of {names}"
    said = []
    for name, use in found.attributes.items():
        if use.satisfied:
            continue
        counts: dict[str, int] = {}
        for group in use.groups.values():
            for word, count in group.words.items():
                counts[word] = counts.get(word, 0) + count
        most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        words = ", ".join(f"{word} {count:,}" for word, count in most[:_MOST_WORDS])
        more = ", ..." if len(most) > _MOST_WORDS else ""
        said.append(f"{name.replace('_', ' ')} in {len(use.prompts):,} ({words}{more})")
    return f"{len(found.mentioning):,} of {found.prompts:,} prompts: {'; '.join(said)}"


def mentions(found: Unawareness | None, names: Sequence[str]) -> list[GroupMention]:
    """Protected words of the prompts, by group; `names` are the ids of the prompts."""
    if found is None:
        return []
    return [
        GroupMention(attribute, group, use.words, [names[index] for index in use.prompts])
        for attribute, uses in found.attributes.items()
        for group, use in uses.groups.items()
        if use.words
    ]


def groups_compared(
    lexicon: Lexicon, given: Mapping[str, Sequence[str]], found: Unawareness | None, *, named: bool
) -> dict[str, Sequence[str]]:
    """Groups to compare by attribute.

    Parameters
    ----------
    lexicon
        The words; its attributes are those that may be compared.
    given
        What the user says, by attribute.
    found
        What the prompts mention; attributes that they do not mention are left out unless the user named them or
        their groups. Gender stands in where none is left.
    named
        Whether the user named the attributes.

    Raises
    ------
    InputError
        For an attribute or a group that does not exist, or a single group.
    """
    for attribute, groups in given.items():
        if attribute not in lexicon.attributes:
            known = ", ".join(lexicon.attributes)
            raise InputError(f"no attribute {attribute!r} to compare groups of; there are {known}")
        known_groups = lexicon.attributes[attribute].groups
        unknown = [group for group in groups if group not in known_groups]
        if unknown:
            raise InputError(f"no group {unknown[0]!r} of {attribute}; there are {', '.join(known_groups)}")
        if len(set(groups)) < 2:
            raise InputError(f"a comparison of {attribute} needs two groups; there are {', '.join(known_groups)}")
    if found is None:
        wanted: Iterable[str] = lexicon.attributes if named else [*given, "gender"]
    else:
        mentioned = [name for name, use in found.attributes.items() if not use.satisfied]
        wanted = lexicon.attributes if named else [*mentioned, *given] or ["gender"]
    words = lexicon.attributes
    return {name: tuple(dict.fromkeys(given.get(name, words[name].compared))) for name in words if name in set(wanted)}


async def measure_texts(
    responses: Responses, index: Index, spec: TextSpec, score: Score, recorder: Recorder
) -> MeasuredTexts:
    """Measure everything that applies, in one pass over the responses."""
    population, cells = _Population(index, spec, recorder), Cells()
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
    if spec.only is not None and attribute not in spec.only:
        return []
    known = spec.lexicon.attributes[attribute].groups if attribute in spec.lexicon.attributes else ()
    chosen = [group for group in spec.compared.get(attribute, ()) if group in there]
    chosen += [group for group in there if group not in known]
    return chosen if len(chosen) > 1 else list(there)


def _not_compared(index: Index, compared: Mapping[str, Collection[str]]) -> Iterable[str]:
    for attribute, there in index.groups.items():
        name = attribute.replace("_", " ")
        left = [group for group in there if group not in compared[attribute]]
        if not compared[attribute]:
            yield f"Responses for groups of {name} are not compared, for it is none of the attributes named."
        elif len(there) < 2:
            yield f"Of {name} there are responses for {', '.join(there)} only; a comparison needs two groups."
        elif left:
            yield f"Responses for {', '.join(left)} ({name}) are not compared; --compare names the groups that are."


def _warnings(index: Index, spec: TextSpec, *, foreign: int, counterfactual: bool) -> Iterable[str]:
    count = len(index.units)
    if count < FEW:
        there = "is only 1 prompt" if count == 1 else f"are only {count:,} prompts"
        yield f"There {there}: intervals are rough, and small gaps cannot be seen."
    if index.counts["empty"]:
        are = _responses(index.counts["empty"], "is", "are")
        yield f"{are} empty; empty counts as not toxic and without stereotype."
    if cut := index.counts["cut off at the limit of tokens"]:
        were = _responses(cut, "was", "were")
        yield f"{were} cut off at the limit of tokens; what would have come after is not counted."
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


INTERRUPTED = "stopped; every answer is kept, and the same command asks only what is missing"

_EMBEDDED = "local/smollm2"


class TextRun:
    """One start of an assessment of texts.

    Parameters
    ----------
    source, options, settings, watcher, recorder
        As for `assess_texts`.
    """

    def __init__(
        self, source: Table, options: TextOptions, *, settings: Settings, watcher: AssessmentWatcher, recorder: Recorder
    ) -> None:
        self.source = source
        self.options = options
        self.settings = settings
        self.watcher = watcher
        self.recorder = recorder
        self.unanswered: set[str] = set()
        self.lexicon = load_words(options.attributes, own=options.words, names=options.names)
        self.scorers: dict[Kind, AnyScorer] = {
            kind: open_scorer(kind, options.scorer(kind), settings) for kind in DEFAULTS
        }
        for scorer in filter(is_remote, self.scorers.values()):
            if options.out is None:
                raise InputError(f"{scorer.name} needs a folder for its answers; give out")
            # A key that is missing is found out now, and not once the model has been asked for hours.
            if variable := key_variable(scorer.model, settings):
                settings.require_key(variable)

    async def assess(self) -> Assessment:
        """Ask what is to be asked, and measure."""
        generated: Generated | None = None
        if self.options.model is None:
            responses: Responses = ResponseTable(self.source, attribute=self._single_attribute())
            found = index(responses)
            path, compared, named = self._path(found.prompts)
        else:
            prompts = read_prompts(self.source, limit=self.options.limit)
            path, compared, named = self._path(prompts)
            asked = compared if path.applies("counterfactual") else {}
            generated = await self._generate(self._generation(prompts, asked))
            responses = StoredResponses(generated.run)
            found = index(responses)
        spec = self._spec(path, compared)
        measured = await self._measure(responses, found, spec)
        return Assessment(
            task=str(self.options.task),
            source=self._described(),
            counts=_counts(found),
            steps=path.steps,
            families=path.families,
            mentions=named,
            measures=measured.measures,
            examples=measured.examples,
            warnings=[*self._warnings(generated), *measured.warnings],
            record=self._record(compared),
            missing=(generated.missing if generated else 0) + len(self.unanswered),
        )

    def _path(self, prompts: Mapping[str, str]) -> tuple[DecisionPath, Mapping[str, Sequence[str]], list[GroupMention]]:
        """The way to the metrics, the groups to compare, and the words in the prompts."""
        options = self.options
        path, found = find_path(
            prompts.values(), self.lexicon, task=options.task, invariance=options.invariance, wanted=options.families
        )
        named = options.attributes is not None
        compared = groups_compared(self.lexicon, options.compare, found, named=named)
        if not (path.applies("stereotype") or path.applies("counterfactual")):
            compared = {}
        return path, compared, mentions(found, list(prompts))

    def _single_attribute(self) -> str:
        """Attribute of a column of groups without one of attributes."""
        named = self.options.attributes or ()
        return named[0] if len(named) == 1 else ""

    def plan(self) -> Asking:
        """What the model would be asked; nothing is asked and no key is needed."""
        if self.options.model is None:
            raise InputError("there is nothing to plan without a model: what is there is scored, and nobody is asked")
        provider_of(self.options.model)
        prompts = read_prompts(self.source, limit=self.options.limit)
        path, compared, _ = self._path(prompts)
        spec = self._generation(prompts, compared if path.applies("counterfactual") else {})
        return asking(spec, self.lexicon, self.settings)

    def _generation(self, prompts: Mapping[str, str], compared: Mapping[str, Sequence[str]]) -> AskingSpec:
        options = self.options
        assert options.model is not None
        assert options.out is not None
        return AskingSpec(
            model=options.model,
            prompts=prompts,
            run=options.out / RUN_FILE,
            compared=compared,
            per_prompt=options.per_prompt,
            system=options.system,
            params=options.params,
            seed=options.request_seed,
        )

    async def _generate(self, spec: AskingSpec) -> Generated:
        pace = self.options.pace
        generated = await generate_async(spec, self.lexicon, pace=pace, settings=self.settings, watcher=self.watcher)
        if generated.interrupted:
            raise RunInterruptedError(INTERRUPTED)
        return generated

    def _spec(self, path: DecisionPath, compared: Mapping[str, Sequence[str]]) -> TextSpec:
        options = self.options
        return TextSpec(
            path=path,
            lexicon=self.lexicon,
            compared=compared,
            scorers=self.scorers,
            targets=options.targets,
            threshold=options.threshold,
            variant=options.variant,
            only=options.attributes,
            resampling=options.resampling,
        )

    async def _measure(self, responses: Responses, found: Index, spec: TextSpec) -> MeasuredTexts:
        """Measure the responses; scores that were paid for, or took long, are kept in the run file."""
        with ExitStack() as stack:
            folder = self.options.out or Path(stack.enter_context(TemporaryDirectory()))
            store = stack.enter_context(Store(folder / RUN_FILE, write=True, tables=TABLES))

            async def score(scorer: AnyScorer, texts: Sequence[str]) -> NDArray[np.float64]:
                return await self._score(scorer, texts, store)

            return await measure_texts(responses, found, spec, score, self.recorder)

    async def _score(self, scorer: AnyScorer, texts: Sequence[str], store: Store) -> NDArray[np.float64]:
        stop = asyncio.Event()
        if is_remote(scorer):
            self.watcher.phase(scorer.name, total=len(set(texts)), done=0)
        # Only here: elsewhere there is nothing to wait for, and Ctrl-C ends it at once.
        with graceful_interrupt(stop, self.watcher.interrupted):
            scores = await score_texts(
                texts,
                scorer,
                store=store,
                pace=self.options.scorer_pace,
                settings=self.settings,
                progress=self.watcher,
                stop=stop,
                done=self.watcher.scored,
            )
        if stop.is_set():
            raise RunInterruptedError(INTERRUPTED)
        if is_remote(scorer):
            without = [text for text, score in zip(texts, scores, strict=True) if np.isnan(score)]
            self.unanswered |= unanswered(scorer, without, store)
        return scores

    def _described(self) -> str:
        name = name_of(self.source)
        return f"prompts of {name}, answered by {self.options.model}" if self.options.model else f"responses of {name}"

    def _warnings(self, generated: Generated | None) -> Iterator[str]:
        if generated is not None and generated.missing:
            yield (
                f"{generated.missing:,} of {generated.wanted:,} responses are missing; the same command asks for them "
                "again. What is shown rests on the others."
            )
        if self.unanswered:
            yield (
                f"{len(self.unanswered):,} scores are missing because asking for them failed; the same command asks "
                "again. What is shown rests on the others."
            )
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


def _counts(found: Index) -> dict[str, int]:
    counts = {"responses": found.counts["responses"], "prompts": len(found.units)}
    counts |= {
        what: found.counts[what]
        for what in ("withheld by a filter", "empty", "cut off at the limit of tokens")
        if found.counts[what]
    }
    return counts
