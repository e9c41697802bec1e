"""A static site of several runs."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from biaslens._util.files import json_text, write_text
from biaslens._util.text import safe_name
from biaslens.analysis import Run, RunInfo
from biaslens.analysis.frame import ATTRIBUTES
from biaslens.errors import InputError, StorageError
from biaslens.report.analyses import Analyses, write_tables
from biaslens.report.leaderboard import write_leaderboard
from biaslens.report.page import view
from biaslens.report.page.environment import environment
from biaslens.runfile import Store, decided_answers, example, reading
from biaslens.schema import Attribute

PER_ROLE = 3
"""Answers shown of a role; two of them biased, where there are."""

LONGEST = 600
"""Characters shown of an answer or a question."""

_BIASED = 2


@dataclass(frozen=True, slots=True)
class Example:
    """An answer as it is shown: whatever a model wrote, cut, and not yet escaped."""

    question: str
    text: str
    cut: bool
    outcome: str
    kind: str
    condition: str
    trial: int


def examples(path: Path, attribute: Attribute, *, seed: int = 0) -> Mapping[str, list[Example]]:
    """Draw answers of every role of an attribute: the same ones for the same run and seed.

    Parameters
    ----------
    path
        The run file.
    attribute
        Whose roles.
    seed
        Of the sample.

    Returns
    -------
    mapping
        Examples by role, biased ones first; roles without an answer are left out.
    """
    by_role: dict[str, dict[bool, list[str]]] = {}
    with reading(path) as store:
        for key, role, outcome in decided_answers(store, attribute):
            by_role.setdefault(role, {True: [], False: []})[outcome == "biased"].append(key)
        return {
            role: [_example(store, key) for key in _draw(found, f"{seed} {attribute} {role}")]
            for role, found in sorted(by_role.items())
        }


def _draw(found: Mapping[bool, list[str]], seed: str) -> Iterator[str]:
    rng = random.Random(seed)  # noqa: S311 - no secret
    biased = rng.sample(found[True], min(_BIASED, len(found[True])))
    yield from biased
    yield from rng.sample(found[False], min(PER_ROLE - len(biased), len(found[False])))


def _example(store: Store, key: str) -> Example:
    question, text, outcome, kind, condition, trial = example(store, key)
    return Example(question[:LONGEST], text[:LONGEST], len(text) > LONGEST, outcome, kind, condition, trial)


MANIFEST = "biaslens-page.json"
"""Lists the files of a page, so that the next one in the same folder removes those it does not write again."""

COMMAND = "biaslens page"


def by_name(runs: Sequence[Run]) -> list[Run]:
    """Put runs in the order of the page."""
    return sorted(runs, key=lambda run: (run.info.model, run.info.path.name))


def write_page(analyses: Analyses, out: Path, *, show_examples: bool | None = None) -> list[Path]:
    """Write the page of some runs.

    The same runs give the same bytes. Files in the folder that are not of an earlier page are left alone.

    Parameters
    ----------
    analyses
        Of one or more runs. Where they were put together by force, the page says so.
    out
        Folder.
    show_examples
        Whether to show answers. By default those of imported runs are not shown: they are others' data.

    Returns
    -------
    list of Path
        Every file, the leaderboard first. Sizes are bounded: at most `PER_ROLE` answers of `LONGEST` characters a role.

    Raises
    ------
    InputError
        Without a run.
    RunMismatchError
        When the runs asked or judged differently, and are not forced together.
    StorageError
        When the folder cannot be written.
    """
    if not analyses.runs:
        raise InputError("a page needs at least one run file; `biaslens evaluate` makes them")
    runs, found = by_name(analyses.runs), analyses.tables
    before = _manifest(out)
    site = _Site(out)
    slugs = _slugs([run.info for run in runs])
    downloads = [*write_leaderboard(analyses.summaries, out / "data"), *write_tables(found, out / "data")]
    site.files += downloads
    site.render(
        "index.html",
        warnings=_warnings(analyses),
        downloads=[(f"data/{path.name}", _DOWNLOADS.get(path.stem, path.stem.replace("_", " "))) for path in downloads],
        **view.leaderboard(analyses, list(zip(runs, slugs, strict=True))),
    )
    site.render(
        "method.html",
        command=COMMAND,
        runs=[{"file": run.info.path.name, "command": _command(run.info)} for run in runs],
    )
    for run, slug in zip(runs, slugs, strict=True):
        _write_model(site, analyses, run, slug, show_examples=show_examples)
    site.finish(before)
    return site.files


_DOWNLOADS = {
    "leaderboard": "a row a model and condition",
    "leaderboard_by_attribute": "the same by attribute and kind",
    "rates": "both headline numbers, coverage and outcomes by attribute and kind",
}


class _Site:
    """Renders pages into a folder and remembers them."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.files: list[Path] = []
        self._environment = environment()

    def render(self, path: str, *, template: str = "", **values: Any) -> None:  # noqa: ANN401 - template values
        """Write one page; `path` is within the folder, and says how far up its root is."""
        text = self._environment.get_template((template or path) + ".j2").render(up="../" * path.count("/"), **values)
        write_text(self.out / path, text)
        self.files.append(self.out / path)

    def finish(self, before: Sequence[str]) -> None:
        """Remove what an earlier page wrote and this one did not, and write the list of files."""
        names = sorted(path.relative_to(self.out).as_posix() for path in self.files)
        for name in set(before) - set(names):
            (self.out / name).unlink(missing_ok=True)
        write_text(self.out / MANIFEST, json_text(names) + "\n")


def _manifest(out: Path) -> list[str]:
    path = out / MANIFEST
    if not path.is_file():
        return []
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read ({error}); remove it, or give another --out") from None
    # A list that somebody has edited must not remove files elsewhere.
    return [name for name in names if isinstance(name, str) and (out / name).resolve().is_relative_to(out.resolve())]


def _slugs(infos: Sequence[RunInfo]) -> list[str]:
    """Folder names of the models: readable, safe, and different even where names are not."""
    names = [safe_name(info.model)[:60].lower() for info in infos]
    slugs: list[str] = []
    for name, info in zip(names, infos, strict=True):
        mark = hashlib.sha256(f"{info.model}\n{info.path.name}".encode()).hexdigest()[:6]
        slugs.append(name if names.count(name) == 1 else f"{name}-{mark}")
    return slugs


def _command(info: RunInfo) -> str:
    starts = info.meta.get("starts") or []
    return str(starts[-1].get("command", "")) if starts else ""


def _warnings(analyses: Analyses) -> list[str]:
    if not analyses.force or len(analyses.runs) < 2:
        return []
    return ["These runs were put together by force: they may have asked or judged differently. Compare with care."]


def _write_model(site: _Site, analyses: Analyses, run: Run, slug: str, *, show_examples: bool | None) -> None:
    info, shown = run.info, view.model(analyses, run)
    by_role = analyses.of(run, "rates_by_role")
    imported = bool(info.meta.get("imported"))
    with_examples = show_examples if show_examples is not None else not imported
    reason = "they are the published study's" if imported else "the page was made without examples"
    site.render(f"models/{slug}/index.html", template="model.html", **shown)
    for attribute in ATTRIBUTES:
        rows = view.roles(by_role, attribute)
        if not rows:
            continue
        drawn = examples(info.path, attribute) if with_examples else None
        site.render(
            f"models/{slug}/{attribute}.html",
            template="attribute.html",
            name=view.name_of(info),
            attribute=attribute,
            rows=rows,
            examples=None
            if drawn is None
            else [{"name": name, "answers": list(map(asdict, answers))} for name, answers in drawn.items()],
            why_no_examples=reason,
            per_role=PER_ROLE,
            longest=LONGEST,
        )
