"""Draw the answers of a run that people are to label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from biaslens.analysis.frame import require_responses
from biaslens.annotation.folder import Placed, Sample, answers_hash
from biaslens.annotation.population import Population, read_item, read_population
from biaslens.annotation.sampling import allocate, margin_of, sample_size
from biaslens.engine import Store
from biaslens.engine.damage import decoding
from biaslens.engine.store import storage_errors
from biaslens.errors import InputError
from biaslens.evaluation.panel import panels
from biaslens.evaluation.tables import PANEL_IN_FORCE
from biaslens.schema import Condition, Kind, content_hash
from biaslens.version import __version__


class Size(NamedTuple):
    """Answers of a kind that there are, those drawn, and the margin that these give (see `margin_of`)."""

    population: int
    size: int
    margin: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample and what it is of.

    Parameters
    ----------
    sample
        What `write_folder` writes.
    sizes
        By kind, where there is something to draw.
    left_out
        By kind: planned answers that cannot be drawn, because they are "not answered", "empty" or "not judged".
    """

    sample: Sample
    sizes: Mapping[Kind, Size]
    left_out: Mapping[Kind, Mapping[str, int]]


def draw(
    run: Path,
    *,
    kinds: Collection[Kind] = tuple(Kind),
    conditions: Collection[Condition] = tuple(Condition),
    panel: str | None = None,
    margin: float = 0.05,
    confidence: float = 0.95,
    size: int | None = None,
    seed: int = 0,
) -> Drawn:
    """Draw a stratified random sample of a run's answers, so large for each kind that a share is known to a margin.

    What is drawn is an answer: one trial of one question in one condition. Strata are kind, condition, attribute of the
    role, outcome by the oracle, and for why answers that the local judge has read whether it is sure. Within a stratum
    it is a simple random sample without replacement, so the inclusion probability of an answer is the share of its
    stratum that is drawn, exactly; `allocate` says how many those are. Several trials of one question may be drawn.

    Which answers are drawn, and the order in which they are shown, hang on their keys and the seed only. The same run
    gives the same sample, a kind the same alone as among others, and a larger size the smaller one and more.

    Parameters
    ----------
    run
        The run file.
    kinds, conditions
        Only answers of these.
    panel
        Whose verdicts on why answers make the strata; the panel in force if not given.
    margin, confidence
        See `sample_size`; for each kind apart.
    size
        Answers of each kind, instead of what the margin asks for.
    seed
        Of the draw.

    Raises
    ------
    InputError
        When there is nothing to draw, no such panel, or a number makes no sense.
    StorageError
        When the run cannot be read.
    """
    if size is not None and size < 1:
        raise InputError(f"size: at least 1, not {size}")
    with Store(run) as store, decoding(run), storage_errors(run):
        require_responses(store)
        # One snapshot: another process may be adding answers and verdicts.
        store.connection.execute("BEGIN")
        meta = store.meta()
        panel = _known(store, panel) if panel is not None else meta.get(PANEL_IN_FORCE)
        population = read_population(store, panel or "", kinds=kinds, conditions=conditions)
        wanted = {
            kind: size or sample_size(answers, margin=margin, confidence=confidence)
            for kind, answers in population.sizes.items()
        }
        design = tuple(sorted(_design(population, wanted, seed), key=lambda placed: placed.key))
        if not design:
            raise InputError(f"{run}: {_nothing(population.left_out)}")
        shown = sorted((placed.key for placed in design), key=lambda key: content_hash("show", seed, key))
        items = tuple(read_item(store, key) for key in shown)
    drawn = Counter(placed.stratum for placed in design)
    info = {
        "sample": content_hash("sample", [astuple(placed) for placed in design], [asdict(item) for item in items]),
        # Keys are of what was asked: another run of the same model has the same ones, and other answers.
        "answers_hash": answers_hash((item.key, item.answer) for item in items),
        "run": run.name,
        **{name: meta.get(name) for name in ("model", "benchmark_hash")},
        "panel": panel,
        "seed": seed,
        "margin": None if size else margin,
        "confidence": confidence,
        "package_version": __version__,
        **_what(population, drawn),
    }
    return Drawn(Sample(info, items, design), _sizes(population, drawn, confidence), population.left_out)


def _known(store: Store, panel: str) -> str:
    known = panels(store)
    if panel not in known:
        raise InputError(
            f"{store.path}: no panel {panel!r} has judged this run; there is: {', '.join(known) or 'none'}"
        )
    return panel


def _design(population: Population, wanted: Mapping[Kind, int], seed: int) -> Iterator[Placed]:
    for kind, strata in population.strata.items():
        counts = allocate({stratum.name: len(stratum.keys) for stratum in strata}, wanted[kind])
        for stratum in strata:
            inclusion = counts[stratum.name] / len(stratum.keys)
            # A random order that hangs on nothing but key and seed.
            order = sorted(stratum.keys, key=lambda key: content_hash("draw", seed, key))
            for key in order[: counts[stratum.name]]:
                yield Placed(key, kind, stratum.attribute, stratum.condition, stratum.name, inclusion)


def _what(population: Population, drawn: Mapping[str, int]) -> dict[str, Any]:
    strata = [stratum for of_kind in population.strata.values() for stratum in of_kind]
    held = {stratum.condition for stratum in strata}
    return {
        "conditions": [condition for condition in Condition if condition in held],
        "kinds": list(population.strata),
        "population": sum(population.sizes.values()),
        "size": sum(drawn.values()),
        "strata": [
            {"stratum": stratum.name, "population": len(stratum.keys), "sampled": drawn[stratum.name]}
            for stratum in strata
        ],
        "left_out": population.left_out,
    }


def _sizes(population: Population, drawn: Mapping[str, int], confidence: float) -> dict[Kind, Size]:
    sizes = {}
    for kind, strata in population.strata.items():
        held = {stratum.name: len(stratum.keys) for stratum in strata}
        margin = margin_of(held, drawn, confidence=confidence)
        sizes[kind] = Size(population.sizes[kind], sum(drawn[name] for name in held), margin)
    return sizes


def _nothing(left_out: Mapping[Kind, Mapping[str, int]]) -> str:
    why = sum((Counter(counts) for counts in left_out.values()), Counter[str]())
    if not why:
        return "nothing is planned of these kinds and conditions; `biaslens evaluate` asks"
    found = ", ".join(f"{count:,} {fault}" for fault, count in sorted(why.items()))
    return f"no answer to draw ({found}); `biaslens evaluate` asks what is missing, `biaslens judge` judges why answers"
