"""From what was accepted to a benchmark folder, with where each item comes from beside it."""

from __future__ import annotations

import csv
import io

from biaslens._util.files import write_text
from biaslens.benchmark.files import Benchmark, content_hash, write
from biaslens.benchmark.llm.spec import GenerationSpec
from biaslens.benchmark.llm.state import State
from biaslens.engine import Store

PROVENANCE = "provenance.csv"
"""Where each role and question comes from, in the folder of the benchmark."""

SERIES = "0-A"
"""Version of benchmarks that a model wrote: none of them is comparable with the shipped ones, or with each other."""


def benchmark_of(state: State) -> Benchmark:
    """The benchmark that a generation has come to, its version derived from its content."""
    spec = state.spec
    roles = tuple(state.made_roles())
    questions = tuple(made.item for made in state.made_questions())
    digest = content_hash(roles, questions)
    return Benchmark(
        version=f"{SERIES}+{digest[:8]}",
        hash=digest,
        path=None,
        roles=roles,
        questions=questions,
        generator=spec.model,
        seed=spec.seed,
        command=spec.command,
    )


def write_benchmark(store: Store, state: State) -> None:
    """Write the benchmark and `PROVENANCE` into the folder.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    spec = state.spec
    write(benchmark_of(state), spec.out)
    write_text(spec.out / PROVENANCE, _provenance(store, spec), hint="free some space and start again")


def _provenance(store: Store, spec: GenerationSpec) -> str:
    marks = ", ".join("?" * len(spec.attributes))
    cursor = store.connection.execute(
        f"SELECT * FROM provenance WHERE attribute IN ({marks}) ORDER BY attribute, role, kind, item",
        [str(attribute) for attribute in spec.attributes],
    )
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column[0] for column in cursor.description])
    writer.writerows(cursor)
    return buffer.getvalue()
