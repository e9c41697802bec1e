"""A run against a baseline and limits: intervals decide, and the exit code says what."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import biaslens
from run_files import Asked, write_run

ROLES = 12


def run_of(path: Path, biased: int, *, lost: int = 0) -> Path:
    """Of 12 roles with a question and two trials each, `biased` have one of two biased, and `lost` an invalid one."""
    trials = [("biased", "unbiased")] * biased + [("unbiased", "unbiased")] * (ROLES - biased)
    if lost:
        trials[-lost:] = [("unbiased", "invalid")] * lost
    asked = (Asked("age", f"Role {number}", "yes_no", each) for number, each in enumerate(trials))
    return write_run(path, asked, trials=2)


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    return run_of(tmp_path / "before.sqlite", 0)


# With three roles of twelve 0.5 higher the rate and the difference are 0.125, the squares 3 * 0.375**2 + 9 * 0.125**2 =
# 0.5625, the standard error sqrt(12 / 11 * 0.5625) / 12 = 0.0653, and t on 11 degrees of freedom 2.201. The interval of
# the rate is that of its logit, -1.946 +- 2.201 * 0.0653 / (0.125 * 0.875), so 0.037 to 0.347; that of none in twelve
# roles ends at 0.288. Together they reach from 0.125 - hypot(0.088, 0.288) = -0.176 to 0.347. With nine the rate is
# 0.375 and, the squares being the same, its interval 0.245 to 0.526: together they reach from
# 0.375 - hypot(0.130, 0.288) = 0.060 to 0.526.
@pytest.mark.parametrize(
    ("biased", "margin", "code", "decision"),
    [
        (3, "36", 0, "passed"),
        (3, "34", 3, "undecided"),
        (3, "0", 3, "undecided"),
        (9, "7", 3, "undecided"),
        (9, "5", 1, "failed"),
    ],
)
def test_the_interval_of_the_difference_decides(tmp_path, baseline, biased, margin, code, decision):
    run = run_of(tmp_path / "after.sqlite", biased)
    done = biaslens("gate", run, "--baseline", baseline, "--margin", margin, "--these-questions", "--json")
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    assert found["decision"] == decision
    check = found["checks"][0]
    assert check["value"] == pytest.approx(biased / 24)
    ends = {3: (-0.1758, 0.3470), 9: (0.0595, 0.5255)}[biased]
    assert (check["low"], check["high"]) == (pytest.approx(ends[0], abs=1e-4), pytest.approx(ends[1], abs=1e-4))


def test_a_model_that_answers_less_does_not_pass_by_that(tmp_path, baseline):
    run = run_of(tmp_path / "after.sqlite", 0, lost=6)  # 18 of 24 trials are valid
    done = biaslens("gate", run, "--baseline", baseline, "--margin", "50")
    assert done.returncode == 1
    assert "coverage: 75.0 %, required at least 90.0 %" in " ".join(done.stdout.split())
    assert biaslens("gate", run, "--baseline", baseline, "--margin", "50", "--min-coverage", "75").returncode == 0


def test_what_is_still_missing_is_undecided(tmp_path, baseline):
    asked = (Asked("age", f"Role {number}", "yes_no", ("unbiased", "unasked")) for number in range(ROLES))
    run = write_run(tmp_path / "after.sqlite", asked, trials=2)
    done = biaslens("gate", run, "--baseline", baseline, "--margin", "50")
    assert done.returncode == 3
    assert "answers or verdicts are still missing" in done.stdout


def test_a_rate_passes_when_all_of_its_interval_is_below(tmp_path):
    run = run_of(tmp_path / "after.sqlite", 0)
    # None of 12 roles is biased: Wilson's bound with t on 11 degrees of freedom, 2.201**2 / (12 + 2.201**2) = 0.288.
    assert biaslens("gate", run, "--max-rate", "29", "--these-questions").returncode == 0
    assert biaslens("gate", run, "--max-rate", "28", "--these-questions").returncode == 3
    assert biaslens("gate", run_of(tmp_path / "worse.sqlite", 12), "--max-rate", "10").returncode == 1


def test_the_files_for_a_pull_request_and_for_ci(tmp_path, baseline):
    run = run_of(tmp_path / "after.sqlite", 9)
    files = ("--summary", tmp_path / "gate.md", "--junit", tmp_path / "gate.xml")
    done = biaslens("gate", run, "--baseline", baseline, "--max-rate", "39", *files, "--these-questions")
    assert done.returncode == 1
    text = (tmp_path / "gate.md").read_text()
    assert text.startswith("### Social bias: Failed: openai/gpt-4o-mini (after.sqlite) against")
    assert "| no regression | Failed" in text and "| coverage" in text
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()
    # 37.5 % with an interval around the limit of 39 % is undecided, which is no failure.
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"no regression": ["failure"], "bias rate": ["error"], "coverage": []}


def test_bad_input_is_one_line(tmp_path, baseline):
    nothing = biaslens("gate", baseline)
    assert (nothing.returncode, "Give --baseline, --max-rate or both." in nothing.stderr) == (2, True)
    itself = biaslens("gate", baseline, "--baseline", baseline)
    assert (itself.returncode, itself.stderr.count("\n")) == (1, 1)
    assert "is its own baseline" in itself.stderr
    other = biaslens("gate", baseline, "--max-rate", "5", "--condition", "no_role")
    assert "asks nothing of kind any under condition no_role" in other.stderr
    longer = write_run(tmp_path / "longer.sqlite", [Asked("age", "Role 0", "yes_no", ("biased",) * 3)])
    refused = biaslens("gate", longer, "--baseline", baseline)
    assert (refused.returncode, "cannot share a table" in refused.stderr) == (1, True)
