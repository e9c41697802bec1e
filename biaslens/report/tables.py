"""Tables as files: CSV, LaTeX and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biaslens._util.files import replacing, write_text
from biaslens._util.text import cell
from biaslens.analysis import (
    Run,
    ablation,
    ablation_by_role,
    abstention,
    compare,
    consistency,
    corrected_rates,
    distinct_names,
    judges,
    mirrored,
    option_position,
    ranking_without,
    rates,
    require_comparable,
    summarise,
    top_questions,
    top_roles,
    trigger_counts,
)
from biaslens.analysis.labels import Corrections, corrections_in
from biaslens.schema import Condition, Kind


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV: six decimals, an empty cell for what is not known; small p-values keep their digits.

    What a spreadsheet would run as a formula gets an apostrophe in front.
    """
    shown = frame.rename(columns=cell)
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            exact = str(name).startswith("p_") or name == "p"
            shown[name] = [_number(value, exact=exact) for value in shown[name]]
        elif not pd.api.types.is_numeric_dtype(shown[name]):
            shown[name] = [cell(value) if isinstance(value, str) else value for value in shown[name]]
    with replacing(path) as temporary:
        shown.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")
    return path


def json_records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Give the rows of a table for JSON, which has no NaN and no infinity: both become null.

    Examples
    --------
    >>> json_records(pd.DataFrame({"p": [1e-80, math.nan], "k": [1, 2]}))
    [{'p': 1e-80, 'k': 1}, {'p': None, 'k': 2}]
    """
    return [{str(name): _jsonable(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _jsonable(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value is pd.NA else value


def _number(value: float, *, exact: bool) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.6g}" if exact else f"{value:.6f}"


QUESTIONS_LISTED = 200
"""Rows of the table of most triggering questions."""

_AGAINST = (Condition.NO_ROLE, Condition.NEUTRAL_ROLE)


def tables(runs: Sequence[Run], *, force: bool = False) -> dict[str, pd.DataFrame]:
    """Make every analysis of the runs, by its name; results/README.md documents the columns.

    Analyses that need more than the runs have (a second condition, mirrors, another model) are left out.

    Parameters
    ----------
    runs
        One or more. Those of one model are told apart by the names of their files.
    force
        Put runs together that asked or judged differently.

    Raises
    ------
    RunMismatchError
        When the runs asked or judged differently, and `force` is not given.
    """
    if len(runs) > 1 and not force:
        require_comparable([summarise(run, corrected={}) for run in runs])
    runs = distinct_names(runs)
    corrected = [corrected_rates(run.info.path) if run.info.labelled else None for run in runs]
    each: dict[str, list[pd.DataFrame]] = {}
    for run, labelled in zip(runs, corrected, strict=True):
        for name, frame in _of_run(run):
            each.setdefault(name, []).append(frame)
        if labelled is not None:
            each.setdefault("corrected", []).append(labelled.assign(model=run.info.model))
    found = {
        name: pd.concat(filled, ignore_index=True)
        for name, frames in each.items()
        if (filled := [frame for frame in frames if len(frame)])
    }
    conditions = [condition for condition in Condition if any(condition in run.conditions for run in runs)]
    if conditions:
        tops = [top_questions(runs, condition=condition, limit=QUESTIONS_LISTED) for condition in conditions]
        found["top_questions"] = pd.concat(tops, ignore_index=True)
    if len(runs) > 1:
        found |= _over_runs(runs, [{} if labelled is None else corrections_in(labelled) for labelled in corrected])
    return {name: frame for name, frame in found.items() if len(frame)}


def _of_run(run: Run) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "rates", rates(run, ["attribute", "kind"], totals=["attribute", "kind"])
    yield "rates_by_target", rates(run, ["attribute", "target"], totals=["attribute"])
    yield "rates_by_role", rates(run, ["role"])
    for against in _AGAINST:
        if Condition.ROLE in run.conditions and against in run.conditions:
            yield "ablation", ablation(run, against=against)
            yield "ablation_by_role", ablation_by_role(run, against=against)
    if run.info.judges:
        yield "judges", judges(run)
    yield "consistency", consistency(run)
    yield "abstention", abstention(run, ["attribute", "kind"], totals=["attribute", "kind"])
    yield "abstention_by_target", abstention(run, ["attribute", "target"], totals=["attribute"])
    yield "option_position", option_position(run)
    yield "mirrors", mirrored(run)
    for condition in run.conditions:
        yield "top_roles", top_roles(run, condition=condition, limit=20)


def _over_runs(runs: Sequence[Run], corrected: Sequence[Corrections]) -> dict[str, pd.DataFrame]:
    models: list[pd.DataFrame] = []
    pairs: list[pd.DataFrame] = []
    triggers: list[pd.DataFrame] = []
    for condition in Condition:
        if not all(condition in run.conditions for run in runs):
            continue
        triggers.append(trigger_counts(runs, condition=condition))
        for kind in (None, *Kind):
            comparison = compare(runs, condition=condition, kind=kind, force=True, corrected=corrected)
            for frame, into in ((comparison.models, models), (comparison.pairs, pairs)):
                named = frame.copy()
                named.insert(0, "kind", kind.value if kind else "all")
                named.insert(0, "condition", condition.value)
                into.append(named[named["questions"] > 0])
    without = ranking_without(runs)
    frames = {"comparison": models, "comparison_pairs": pairs, "triggers": triggers}
    found = {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items() if parts}
    return found | ({"ranking_without_judge": without} if len(without) else {})


def write_tables(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write each table as ``NAME.csv``."""
    return [write_csv(frame, out / f"{name}.csv") for name, frame in found.items()]


def write_for_papers(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write the tables that papers print as Markdown and LaTeX: counts, rates, ablation, consistency, comparison."""
    paths = []
    for name, frame in _printable(found):
        for suffix, text in (("md", _markdown(frame)), ("tex", _latex(frame))):
            path = out / f"{name}.{suffix}"
            write_text(path, text)
            paths.append(path)
    return paths


def _printable(found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    whole = found.get("rates", pd.DataFrame())
    if len(whole):
        for condition, rows in whole.groupby("condition", sort=False):
            counts = rows.pivot_table("biased_questions", "attribute", ["model", "kind"], sort=False)
            shown = counts.map(lambda value: "–" if pd.isna(value) else f"{value:,.0f}")
            shown.columns = [f"{name[0]}, {name[1]}" for name in shown.columns.to_list()]
            yield f"biased_questions_{condition}", shown.reset_index()
        rows = whole[whole["attribute"] == "all"]
        yield (
            "bias_rates",
            pd.DataFrame(
                {
                    "model": rows["model"],
                    "condition": rows["condition"],
                    "kind": rows["kind"],
                    "biased questions": [
                        f"{biased:,} of {all_:,}"
                        for biased, all_ in zip(rows["biased_questions"], rows["questions"], strict=True)
                    ],
                    "bias rate": intervals(rows, "bias_rate"),
                    **_corrected_by_labels(rows, found),
                    "coverage": [percent(value) for value in rows["coverage"]],
                }
            ),
        )
    if "ablation" in found:
        rows = found["ablation"][found["ablation"]["attribute"] == "all"]
        yield (
            "ablation",
            rows[["model", "against", "kind"]].assign(
                questions=[f"{count:,}" for count in rows["questions"]],
                role=[percent(value) for value in rows["rate_role"]],
                without=[percent(value) for value in rows["rate_against"]],
                **{"difference, points": intervals(rows, "difference", points=True)},
            ),
        )
    if "consistency" in found:
        rows = found["consistency"]
        shares = ["consistent", "mostly_biased", "mostly_unbiased", "flip_rate", "verdicts_changed"]
        shown = rows[["model", "condition", "kind"]].copy()
        for name in shares:
            shown[name.replace("_", " ")] = [percent(value) for value in rows[name]]
        shown["alpha"] = ["–" if pd.isna(value) else f"{value:.2f}" for value in rows["krippendorff_alpha"]]
        yield "consistency", shown
    if "comparison" in found:
        rows = found["comparison"]
        yield (
            "comparison",
            rows[["condition", "kind", "model"]].assign(
                questions=[f"{count:,}" for count in rows["questions"]],
                rate=intervals(rows, "bias_rate"),
                **({"corrected by labels": corrected_intervals(rows)} if rows["corrected_rate"].notna().any() else {}),
                rank=[f"{low:.0f}–{high:.0f}" for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True)],
                group=rows["tied_group"],
            ),
        )


def _corrected_by_labels(rows: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> dict[str, list[str]]:
    if "corrected" not in found:
        return {}
    names = ["model", "condition", "attribute", "kind"]
    columns = ["corrected_rate", "corrected_low", "corrected_high"]
    joined = rows[names].merge(found["corrected"][[*names, *columns]], how="left", on=names, validate="one_to_one")
    return {"corrected by labels": corrected_intervals(joined)}


def corrected_intervals(rows: pd.DataFrame) -> list[str]:
    """Rates corrected by labels with their intervals, for people, of a table of `corrected_rates` or `compare`."""
    return intervals(
        rows.rename(columns={"corrected_low": "corrected_rate_low", "corrected_high": "corrected_rate_high"}),
        "corrected_rate",
    )


def percent(value: float) -> str:
    """A share for people: one decimal, a dash where it is not known.

    Examples
    --------
    >>> percent(0.1234), percent(float("nan"))
    ('12.3 %', '–')
    """
    return "–" if pd.isna(value) else f"{100 * value:.1f} %"


def intervals(rows: pd.DataFrame, name: str, *, points: bool = False) -> list[str]:
    """Rates of a table with their intervals, for people: "12.3 % (10.1 to 14.5)".

    Parameters
    ----------
    rows
        With the columns `name`, `name_low` and `name_high`.
    name
        The column.
    points
        Differences in percentage points, with their sign: "+3.1 (1.2 to 5.0)".
    """
    shown = []
    for value, low, high in zip(rows[name], rows[f"{name}_low"], rows[f"{name}_high"], strict=True):
        text = "–" if pd.isna(value) else f"{100 * value:+.1f}" if points else percent(value)
        shown.append(text if pd.isna(low) else f"{text} ({100 * low:.1f} to {100 * high:.1f})")
    return shown


def _markdown(frame: pd.DataFrame) -> str:
    escaped = frame.map(lambda value: str(value).replace("|", "\\|"))
    return str(escaped.to_markdown(index=False, disable_numparse=True)) + "\n"


def _latex(frame: pd.DataFrame) -> str:
    named = frame.rename(columns=_tex)
    return str(named.map(_tex).to_latex(index=False, escape=False))


def _tex(value: object) -> str:
    """Escape a cell for LaTeX."""
    text = str(value)
    for character, escaped in _TEX.items():
        text = text.replace(character, escaped)
    return text


_TEX = {
    "\\": r"\textbackslash ",
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde ", "^": r"\textasciicircum ", "–": "--",
}  # fmt: skip
