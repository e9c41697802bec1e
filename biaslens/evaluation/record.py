"""What a run file records of its run: all that is needed to repeat it."""

from __future__ import annotations

from collections.abc import Mapping

from biaslens.benchmark import Benchmark
from biaslens.engine import Store
from biaslens.engine.record import this_start
from biaslens.errors import RunMismatchError
from biaslens.evaluation.panel import enrol, forget_who_never_judged
from biaslens.evaluation.prompting import read_wording
from biaslens.evaluation.spec import Spec
from biaslens.evaluation.tables import PANEL_IN_FORCE
from biaslens.models import ChatModel
from biaslens.version import __version__


def record(store: Store, spec: Spec, benchmark: Benchmark, models: Mapping[str, ChatModel]) -> None:
    """Write what the run is into its file, and add this start to the starts recorded there.

    Raises
    ------
    RunMismatchError
        When the file is of another run.
    """
    model = models[spec.model]
    wording = read_wording(spec.prompts, spec.system)
    _forget_what_was_never_answered(store)
    store.require_meta(
        {
            "model": spec.model,
            "weights": model.runtime.get("sha256"),
            "benchmark_version": benchmark.version,
            "benchmark_hash": benchmark.hash,
            "params": spec.params_record,
            "system": spec.system,
            "template_hash": wording.hash,
            "seed": spec.seed,
            "shuffle_options": spec.shuffle_options,
        },
        hint="name another file with --run, or repeat the first start's options",
    )
    if spec.panel is not None:
        judged_by = store.meta().get(PANEL_IN_FORCE, spec.panel.name)
        if judged_by != spec.panel.name:
            raise RunMismatchError(
                f"{store.path}: {judged_by} judges this run, not {spec.panel.name}; "
                "`biaslens judge` lets another panel judge it too"
            )
        enrol(store, spec.panel)
    known = store.meta()
    start = this_start(models)
    store.set_meta(
        {
            "generator": benchmark.generator,
            "templates": None if spec.prompts is None else dict(wording.sources),
            "benchmark_path": None if spec.benchmark is None else str(spec.benchmark),
            "conditions": list(dict.fromkeys([*known.get("conditions", []), *spec.conditions])),
            "trials": max(spec.trials, known.get("trials", 0)),
            "created_at": known.get("created_at", start["at"]),
            "package_version": __version__,
            "runtime": dict(model.runtime),
            "starts": [*known.get("starts", []), start],
        }
    )


def _forget_what_was_never_answered(store: Store) -> None:
    """Free the file of choices that no answer depends on: a first start with a wrong name or key binds nobody."""
    forget_who_never_judged(store)
    with store.transaction() as connection:
        if not connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone():
            for table in ("plan", "mirrors", "questions", "roles", "failures"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("DELETE FROM meta WHERE name NOT IN ('format', 'starts', 'created_at')")
