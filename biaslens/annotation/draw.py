"""Draw the answers of a run that people are to label."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from biaslens.analysis.frame import require_responses
from biaslens.annotation.folder import Item, Placed, Sample
from biaslens.annotation.sampling import allocate, margin_of, sample_size
from biaslens.engine import Store
from biaslens.engine.store import storage_errors
from biaslens.errors import InputError
from biaslens.evaluation.panel import panels
from biaslens.evaluation.plan import shown_options
from biaslens.evaluation.tables import PANEL_IN_FORCE
from biaslens.schema import Condition, Kind, content_hash
from biaslens.version import __version__

SURE = 0.95
"""From which probability on the local judge counts as sure."""

_POPULATION = """
SELECT plan.key, questions.kind, roles.attribute, plan.condition, verdicts.outcome, screened.probability
FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) JOIN answers USING (key)
JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?)
LEFT JOIN screened ON screened.response_key = plan.key
WHERE answers.text <> '' ORDER BY plan.key
"""

_ITEM = """
SELECT questions.kind, roles.attribute, roles.name, roles.persona, plan.condition, questions.text, questions.options,
       plan.option_order, answers.text
FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) JOIN answers USING (key) WHERE plan.key = ?
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample and what it is of.

    Parameters
    ----------
    sample
        What `write_folder` writes.
    sizes
        By kind: the answers there are, those drawn, and the margin that a simple random sample of this size has.
    left_out
        Planned answers that cannot be drawn: not asked yet, empty, or without a verdict.
    """

    sample: Sample
    sizes: dict[Kind, tuple[int, int, float]]
    left_out: int


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

    Strata are kind, condition, attribute, the outcome by the oracle, and for why answers whether the local judge is
    sure, where it has read them. Within a stratum every answer has the same chance, drawn without replacement; the
    chance of each is recorded. The order of draws depends on key and seed only: a larger sample of the same seed holds
    more of the same answers, and the same run gives the same sample.

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
    with Store(run) as store, storage_errors(run):
        require_responses(store)
        meta = store.meta()
        chosen = panel or str(meta.get(PANEL_IN_FORCE, ""))
        if panel is not None and panel not in panels(store):
            known = ", ".join(panels(store)) or "none"
            raise InputError(f"{run}: no panel {panel!r} has judged this run; there is: {known}")
        strata: dict[Kind, dict[str, list[str]]] = {kind: defaultdict(list) for kind in Kind if kind in kinds}
        for key, kind, attribute, condition, outcome, probability in store.connection.execute(_POPULATION, (chosen,)):
            if Kind(kind) in strata and Condition(condition) in conditions:
                name = "/".join([kind, condition, attribute, outcome, *_confidence(Kind(kind), probability)])
                strata[Kind(kind)][name].append(key)
        design, sizes = _design(strata, margin=margin, confidence=confidence, size=size, seed=seed)
        if not design:
            raise InputError(f"{run}: no answer with a verdict to draw; `biaslens judge` judges why answers")
        items = tuple(_items(store, design, seed))
        planned = int(store.connection.execute("SELECT count(*) FROM plan").fetchone()[0])
    population = sum(held for held, _, _ in sizes.values())
    info = {
        "sample": content_hash("sample", [placed.key for placed in design], [placed.stratum for placed in design]),
        "run": run.name,
        "model": meta.get("model"),
        "benchmark_hash": meta.get("benchmark_hash"),
        "conditions": sorted({placed.condition for placed in design}),
        "kinds": [str(kind) for kind in sizes],
        "panel": chosen or None,
        "seed": seed,
        "margin": None if size is not None else margin,
        "confidence": confidence,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "package_version": __version__,
        "population": population,
        "size": len(design),
        "strata": [
            {"stratum": name, "population": len(keys), "sampled": sum(placed.stratum == name for placed in design)}
            for of_kind in strata.values()
            for name, keys in sorted(of_kind.items())
        ],
    }
    everything = len(kinds) == len(Kind) and len(conditions) == len(Condition)
    return Drawn(Sample(info, items, design), sizes, planned - population if everything else 0)


def _confidence(kind: Kind, probability: float | None) -> list[str]:
    if kind is not Kind.WHY or probability is None:
        return []
    return ["sure" if max(probability, 1 - probability) >= SURE else "unsure"]


def _design(
    strata: dict[Kind, dict[str, list[str]]], *, margin: float, confidence: float, size: int | None, seed: int
) -> tuple[tuple[Placed, ...], dict[Kind, tuple[int, int, float]]]:
    placed, sizes = [], {}
    for kind, of_kind in strata.items():
        held = {name: len(keys) for name, keys in of_kind.items()}
        population = sum(held.values())
        if not population:
            continue
        wanted = size if size is not None else sample_size(population, margin=margin, confidence=confidence)
        for name, count in allocate(held, wanted).items():
            _, condition, attribute, *_ = name.split("/")
            drawn = sorted(of_kind[name], key=lambda key: content_hash("draw", seed, key))[:count]
            placed += [Placed(key, kind, attribute, condition, name, count / held[name]) for key in drawn]
        number = min(wanted, population)
        sizes[kind] = (population, number, margin_of(number, population, confidence=confidence))
    return tuple(sorted(placed, key=lambda each: each.key)), sizes


def _items(store: Store, design: Sequence[Placed], seed: int) -> Iterator[Item]:
    for placed in sorted(design, key=lambda each: content_hash("show", seed, each.key)):
        row = store.connection.execute(_ITEM, (placed.key,)).fetchone()
        kind, attribute, role, persona, condition, question, options, order, answer = row
        shown = tuple(shown_options(options, order)) if json.loads(options) else ()
        yield Item(placed.key, kind, attribute, role, persona, condition, question, shown, answer)
