"""What was found, in sentences made of the tables, never beyond them; and a gate's decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from biaslens._util.files import write_bytes
from biaslens._util.text import plural, printable
from biaslens.analysis.gate import GateCheck, GateDecision, GateResult
from biaslens.analysis.rates import ALL
from biaslens.report.analyses import Analyses
from biaslens.report.run import LOW_COVERAGE
from biaslens.report.table import CONDITIONS, KINDS, LEVEL, Table, between, decimal, percent
from biaslens.schema import Condition, Kind

_NAMED = 3
"""Roles that are named at most."""

Row = Mapping[str, Any]


def of_model(analyses: Analyses, model: str) -> list[str]:
    """Sentences on one run: its bias rate, what the role changes, which kind of question and which roles stand out.

    What cannot be told is said to be so. With several conditions the first, mostly that with the role, is described.
    """
    rates = analyses.of("rates", model=model, attribute=ALL)
    conditions = [condition for condition in Condition if len(rates) and condition in set(rates["condition"])]
    if not conditions:
        return ["Nothing was asked yet."]
    condition = conditions[0]
    rows = {row["kind"]: row for row in _rows(rates[rates["condition"] == condition])}
    whole = rows[ALL]
    if not whole["valid_trials"]:
        return [f"None of the {whole['planned_trials']:,} planned answers {CONDITIONS[condition]} is valid yet."]
    return [
        *_rate(analyses, model, condition, whole),
        *_role(analyses, model),
        *_kinds(rows),
        *_roles(analyses, model, condition, whole),
        *_forms(analyses, model, condition),
    ]


def _rate(analyses: Analyses, model: str, condition: Condition, whole: Row) -> Iterator[str]:
    shown = f"{percent(whole['bias_rate'])}{_interval(whole, 'bias_rate')}"
    where = f"its {whole['valid_trials']:,} valid answers {CONDITIONS[condition]}"
    yield f"{printable(model)} was biased in {shown} of {where}."
    if whole["coverage"] < LOW_COVERAGE:
        yield f"Only {percent(whole['coverage'])} of the planned answers are valid: the rate speaks for these alone."
    corrected = _rows(analyses.of("corrected", model=model, condition=condition, attribute=ALL, kind=ALL))
    if corrected and not pd.isna(corrected[0]["corrected_rate"]):
        found = corrected[0]
        yield f"Corrected by people's labels it is {percent(found['corrected_rate'])}{_interval(found, 'corrected')}."


def _role(analyses: Analyses, model: str) -> Iterator[str]:
    for against in (Condition.NO_ROLE, Condition.NEUTRAL_ROLE):
        rows = _rows(analyses.of("ablation", model=model, against=against, attribute=ALL, kind=ALL))
        if not rows or pd.isna(rows[0]["difference"]):
            continue
        row = rows[0]
        than = "no role" if against is Condition.NO_ROLE else "an ordinary person's role"
        size = f"{abs(100 * row['difference']):.1f} points"
        ends = "" if pd.isna(row["difference_low"]) else f" ({between(row['difference_low'], row['difference_high'])})"
        # Both: where no role differs from another, the interval falls back on a wider one than the test.
        if row["p_holm"] < LEVEL and not row["difference_low"] <= 0 <= row["difference_high"]:
            more = "adds" if row["difference"] > 0 else "takes away"
            yield f"Beside {than}, playing a role {more} {size}{ends}."
        else:
            sign = "+" if row["difference"] >= 0 else "-"
            yield f"Whether a role changes the rate cannot be told: beside {than} it is {sign}{size}{ends}."
        return


def _kinds(rows: Mapping[str, Row]) -> Iterator[str]:
    kinds = [rows[kind] for kind in Kind if kind in rows and not pd.isna(rows[kind]["bias_rate_low"])]
    if len(kinds) < 2:
        return
    most, least = (pick(kinds, key=lambda row: row["bias_rate"]) for pick in (max, min))
    if most["bias_rate_low"] > least["bias_rate_high"]:
        yield (
            f"{KINDS[most['kind']].capitalize()} questions drive it ({percent(most['bias_rate'])}); "
            f"{KINDS[least['kind']]} questions show the least ({percent(least['bias_rate'])})."
        )


def _roles(analyses: Analyses, model: str, condition: Condition, whole: Row) -> Iterator[str]:
    table = analyses.of("top_roles", model=model, condition=condition)
    if not len(table) or "pooled_low" not in table:
        return
    high = table[table["pooled_low"] > whole["bias_rate"]].sort_values("pooled_rate", ascending=False)
    if len(high):
        named = [f"{printable(row['role'])} ({percent(row['pooled_rate'])})" for row in _rows(high.head(_NAMED))]
        roles = f"Of {plural(whole['roles'], 'role')}, read first: {', '.join(named)}"
        yield f"{roles}; these rates are shrunk towards the mean of all."
    elif len(table) > 1:
        yield f"None of the {whole['roles']} roles stands out from the mean of all."


def _forms(analyses: Analyses, model: str, condition: Condition) -> Iterator[str]:
    rows = _rows(analyses.of("forms", model=model, condition=condition, kind=ALL)) if analyses.forms else []
    for row in rows:
        size = f"{100 * row['difference']:+.1f} points{_interval(row, 'difference')}"
        yield (
            f"In the {plural(row['roles'], 'role')} of both forms it was biased in {percent(row['rate_private'])} on "
            f"the private one and in {percent(row['rate_public'])} on the public one: {size}."
        )
        if pd.isna(row["beyond_others"]):
            yield "Forms may differ for every model alike: run others on both before reading much into it."
            continue
        beyond = f"{100 * row['beyond_others']:+.1f} points{_interval(row, 'beyond_others')}"
        if row["p_beyond_holm"] < LEVEL and row["beyond_others"] > 0:
            yield f"That is {beyond} beyond the other models: it may know the public questions."
        else:
            yield f"Beside the other models that is {beyond}: no sign that it knows the public questions."


def of_models(analyses: Analyses) -> list[str]:
    """Sentences on several runs, by the questions that all of them answered; none for one run."""
    table = analyses.of("comparison", kind=ALL)
    if not len(table):
        return []
    condition = next(condition for condition in Condition if condition in set(table["condition"]))
    rows = sorted(_rows(table[table["condition"] == condition]), key=lambda row: -row["bias_rate"])
    pairs = analyses.of("comparison_pairs", condition=condition, kind=ALL)
    tied = int(pairs["tied"].sum())
    first, last = rows[0], rows[-1]
    who = "both" if len(rows) == 2 else f"all {len(rows)} models"
    told = [
        f"On the {first['questions']:,} questions {CONDITIONS[condition]} that {who} answered, rates go from "
        f"{percent(last['bias_rate'])} ({printable(last['model'])}) to {percent(first['bias_rate'])} "
        f"({printable(first['model'])})."
    ]
    if tied == len(pairs):
        told.append("No two of them can be told apart." if len(pairs) > 1 else "The two cannot be told apart.")
    elif tied:
        told.append(f"{plural(tied, 'pair')} of {len(pairs)} cannot be told apart.")
    else:
        told.append("All of them can be told apart." if len(pairs) > 1 else "The two can be told apart.")
    return told


def _interval(row: Row, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if pd.isna(low) else f" ({between(low, high)})"


def _rows(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


_WORDS = {GateDecision.PASSED: "Passed", GateDecision.FAILED: "Failed", GateDecision.UNDECIDED: "Undecided"}


def gate_sentence(gate: GateResult) -> str:
    """Say what was decided, and of the first check that did not pass what stood against it."""
    against = f" against {gate.baseline}" if gate.baseline else ""
    asked = f"{gate.questions:,} questions, condition {gate.condition}"
    subject = f"{_WORDS[gate.decision]}: {gate.model}{against}, {asked}"
    open_check = next((check for check in gate.checks if check.decision is gate.decision), None)
    if open_check is None or gate.decision is GateDecision.PASSED:
        return f"{subject}."
    return f"{subject}; {_reason(open_check)}."


def _reason(check: GateCheck) -> str:
    said = f"{check.name}: {_found(check)}, required {_limit(check)}"
    if check.decision is GateDecision.FAILED:
        return said
    if check.name == "coverage":
        return f"{said}; answers or verdicts are still missing"
    return f"{said}; the interval holds the limit: ask more roles (evaluate --roles-per-attribute) or state another"


def gate_table(gate: GateResult) -> Table:
    """Put a row for each check."""
    return Table.of(
        {
            "check": [check.name for check in gate.checks],
            "result": [_WORDS[check.decision] for check in gate.checks],
            "found": [_found(check) for check in gate.checks],
            "required": [_limit(check) for check in gate.checks],
            "basis": [check.basis for check in gate.checks],
        },
        title=gate_sentence(gate),
        words=("check", "result", "basis"),
    )


def _found(check: GateCheck) -> str:
    if check.name == "coverage":
        return percent(check.value)
    points = check.name == "no regression"
    value = f"{decimal(100 * check.value, 1)} points" if points else percent(check.value)
    return f"{value} ({between(check.low, check.high)})"


def _limit(check: GateCheck) -> str:
    if check.name == "coverage":
        return f"at least {percent(check.limit)}"
    if check.name == "no regression":
        return f"less than {decimal(100 * check.limit, 1)} points more"
    return f"less than {percent(check.limit)}"


def gate_markdown(gate: GateResult) -> str:
    """Summarise for a pull request."""
    return f"### Social bias: {gate_sentence(gate)}\n\n{gate_table(gate).markdown()}"


def write_junit(gate: GateResult, path: Path) -> None:
    """Write the checks as a test suite, which CI systems show: an undecided one is an error, not a failure."""
    counts = {each: sum(check.decision is each for check in gate.checks) for each in GateDecision}
    suite = ElementTree.Element(
        "testsuite",
        name=printable(f"biaslens gate {gate.model}"),
        tests=str(len(gate.checks)),
        failures=str(counts[GateDecision.FAILED]),
        errors=str(counts[GateDecision.UNDECIDED]),
    )
    for check in gate.checks:
        case = ElementTree.SubElement(suite, "testcase", classname="biaslens.gate", name=check.name)
        if check.decision is not GateDecision.PASSED:
            tag = "failure" if check.decision is GateDecision.FAILED else "error"
            ElementTree.SubElement(case, tag, message=printable(_reason(check)))
    write_bytes(path, ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
