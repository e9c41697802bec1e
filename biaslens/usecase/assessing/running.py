"""One start of an assessment of texts: ask what is to be asked, score what is to be scored, measure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from biaslens.engine import Store
from biaslens.engine.interrupt import graceful_interrupt
from biaslens.engine.record import this_command
from biaslens.errors import InputError, RunInterruptedError
from biaslens.models import provider_of
from biaslens.models.endpoints import key_for
from biaslens.settings import Settings
from biaslens.usecase.assessing.indexing import Index, index
from biaslens.usecase.assessing.spec import TextSpec
from biaslens.usecase.assessing.texts import Measured, find_path, groups_compared, measure_texts, mentions
from biaslens.usecase.framework import Path as Walk
from biaslens.usecase.generation import TABLES, Generated, StoredResponses, generate_async
from biaslens.usecase.options import RUN_FILE, TextOptions
from biaslens.usecase.reading import ResponseTable, Table, name_of, read_prompts
from biaslens.usecase.recording import Recorder
from biaslens.usecase.responses import Responses
from biaslens.usecase.result import Assessment, Mention
from biaslens.usecase.scorers import DEFAULTS, AnyScorer, Kind, is_remote, open_scorer, score_texts
from biaslens.usecase.scorers.scoring import unanswered
from biaslens.usecase.wanted import Asking, GenerationSpec, asking
from biaslens.usecase.watching import Watcher
from biaslens.usecase.words import load_words
from biaslens.version import __version__

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
        self, source: Table, options: TextOptions, *, settings: Settings, watcher: Watcher, recorder: Recorder
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
            key_for(scorer.model, settings)

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

    def _path(self, prompts: Mapping[str, str]) -> tuple[Walk, Mapping[str, Sequence[str]], list[Mention]]:
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

    def _generation(self, prompts: Mapping[str, str], compared: Mapping[str, Sequence[str]]) -> GenerationSpec:
        options = self.options
        assert options.model is not None
        assert options.out is not None
        return GenerationSpec(
            model=options.model,
            prompts=prompts,
            run=options.out / RUN_FILE,
            compared=compared,
            per_prompt=options.per_prompt,
            system=options.system,
            params=options.params,
            seed=options.request_seed,
        )

    async def _generate(self, spec: GenerationSpec) -> Generated:
        pace = self.options.pace
        generated = await generate_async(spec, self.lexicon, pace=pace, settings=self.settings, watcher=self.watcher)
        if generated.interrupted:
            raise RunInterruptedError(INTERRUPTED)
        return generated

    def _spec(self, path: Walk, compared: Mapping[str, Sequence[str]]) -> TextSpec:
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

    async def _measure(self, responses: Responses, found: Index, spec: TextSpec) -> Measured:
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
