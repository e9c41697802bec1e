"""A gate's decision in words: a table, a summary for a pull request, and a file for CI."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from biaslens._util.files import write_bytes
from biaslens._util.text import printable
from biaslens.analysis.gate import GateCheck, GateDecision, GateResult
from biaslens.report.table import Table, between, decimal, percent

_WORDS = {GateDecision.PASSED: "Passed", GateDecision.FAILED: "Failed", GateDecision.UNDECIDED: "Undecided"}


def sentence(gate: GateResult) -> str:
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


def table(gate: GateResult) -> Table:
    """Put a row for each check."""
    return Table.of(
        {
            "check": [check.name for check in gate.checks],
            "result": [_WORDS[check.decision] for check in gate.checks],
            "found": [_found(check) for check in gate.checks],
            "required": [_limit(check) for check in gate.checks],
            "basis": [check.basis for check in gate.checks],
        },
        title=sentence(gate),
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


def markdown(gate: GateResult) -> str:
    """Summarise for a pull request."""
    return f"### Social bias: {sentence(gate)}\n\n{table(gate).markdown()}"


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
