"""The files of a report over models: tables for programs, a page of Markdown, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biaslens._util.files import write_text
from biaslens.probe.families import compare_groups, net_count
from biaslens.probe.gaps import Groups, Reference, counts, gaps, metric
from biaslens.probe.intervals import COVERS, KINDS, PERMUTATION_COVERS, Kind, covers, intervals, term_permutation
from biaslens.report.figures.style import save
from biaslens.report.frames import write_csv
from biaslens.report.probe.figures import gap_figure
from biaslens.report.probe.words import HARM, REFERENCES, gap_cells, group_name, p_value, remarks


def probe_tables(
    predictions: pd.DataFrame,
    *,
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    rounds: int = 2000,
    seed: int = 0,
) -> dict[str, pd.DataFrame]:
    """Make every table of the report, by its name.

    gaps (prompt by prompt), intervals (all kinds), net_count, terms (exchange of terms), background, pairwise and
    multigroup; gaps, intervals and net_count also against the unmarked sentences, where all models have them.

    Parameters
    ----------
    predictions
        Of one or several models.
    attributes, groups, rounds, seed
        As of `intervals`.
    """
    counted = list(counts(predictions, attributes=attributes, groups=groups))
    references: list[Reference] = ["mean", "unmarked"] if all(found.has_unmarked for found in counted) else ["mean"]
    every = pd.concat(
        [
            intervals(counted, kind=kind, reference=reference, rounds=rounds, seed=seed)
            for reference in references
            for kind in KINDS
        ],
        ignore_index=True,
    )
    by_prompt = [gaps(counted, reference=reference).assign(reference=reference) for reference in references]
    compared = compare_groups(predictions, attributes=attributes, groups=groups)
    return {
        "gaps": pd.concat(by_prompt, ignore_index=True),
        "intervals": every,
        "net_count": net_count(every),
        "terms": term_permutation(counted, seed=seed),
        **{str(family): rows.drop(columns="family") for family, rows in compared.groupby("family", sort=False)},
    }


def write_probe_report(
    predictions: pd.DataFrame,
    out: Path,
    *,
    kind: Kind = "bootstrap",
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    rounds: int = 2000,
    seed: int = 0,
) -> list[Path]:
    """Write the tables as CSV files, ``report.md``, and a figure for each attribute as SVG and PNG.

    Parameters
    ----------
    predictions
        Of one or several models.
    out
        Folder.
    kind
        The interval of the page and of the figures; the CSV file has all of them.
    attributes, groups, rounds, seed
        As of `intervals`.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    found = probe_tables(predictions, attributes=attributes, groups=groups, rounds=rounds, seed=seed)
    paths = [write_csv(table, out / f"{name}.csv") for name, table in found.items()]
    shown = found["intervals"][found["intervals"]["interval"] == kind]
    for (reference, attribute), rows in shown.groupby(["reference", "attribute"], sort=False):
        suffix = "" if reference == "mean" else f"_{reference}"
        paths += save(gap_figure(rows), out / "figures" / f"gaps_{attribute}{suffix}")
    page = out / "report.md"
    write_text(page, "\n".join(_page(found, kind)))
    return [page, *paths]


def _page(found: Mapping[str, pd.DataFrame], kind: Kind) -> Iterator[str]:
    yield "# Gaps in false-positive rates\n"
    yield f"{HARM}\n"
    shown = found["intervals"][found["intervals"]["interval"] == kind]
    for (reference, attribute), rows in shown.groupby(["reference", "attribute"], sort=False):
        suffix = "" if reference == "mean" else f"_{reference}"
        against: Reference = rows["reference"].iloc[0]
        yield f"## {str(attribute).capitalize()}: gap to {REFERENCES[against]}\n"
        yield f"The {kind} interval covers {covers(kind, against)}.\n"
        yield f"![Gaps of {attribute}](figures/gaps_{attribute}{suffix}.svg)\n"
        for model, part in rows.groupby("model", sort=False):
            yield f"**{_cell(str(model))}**, {part['prompts'].iloc[0]} prompts\n"
            yield markdown(pd.DataFrame(gap_cells(part)))
            yield from (f"{note}  " for note in remarks(part))
            yield ""
    yield "## Net count over models\n"
    yield "+1 for each model whose interval lies above 0, -1 for each below, by the kind of interval.\n"
    yield markdown(_net(found["net_count"]))
    for name, text in COVERS.items():
        yield f"- {name}: covers {text}."
    yield "\n## Groups or words\n"
    yield f"Terms exchanged between the groups; the test covers {PERMUTATION_COVERS}.\n"
    yield markdown(_terms(found["terms"]))


def _net(table: pd.DataFrame) -> pd.DataFrame:
    wide = table[table["reference"] == "mean"]
    wide = wide.pivot_table(
        index=["attribute", "metric", "group", "models"], columns="interval", values="net", sort=False, observed=True
    )
    shown = wide[[kind for kind in KINDS if kind in wide.columns]].map(lambda net: f"{net:+.0f}" if net else "0")
    shown = shown.reset_index()
    shown["metric"] = [metric(name).title for name in shown["metric"]]
    shown["group"] = shown["group"].map(group_name)
    return shown


def _terms(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": table["model"],
            "attribute": table["attribute"],
            "metric": [metric(name).title for name in table["metric"]],
            "group": table["group"].map(group_name),
            "terms": table["terms"],
            "p": table["p_terms"].map(p_value),
            "p (Holm)": table["p_terms_holm"].map(p_value),
            "note": table["note"],
        }
    )


def markdown(table: pd.DataFrame) -> str:
    """Write a table as Markdown; what stands in its cells cannot break it."""
    return str(table.astype(str).map(_cell).to_markdown(index=False, disable_numparse=True)) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
