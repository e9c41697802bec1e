"""`biaslens status`: how far a run is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from command import biaslens
from run_files import ASKED, Asked, write_run

from biaslens.report.run import Progress


def test_it_says_how_far_a_run_is(run):
    done = biaslens("status", run, COLUMNS="100")
    assert done.returncode == 0
    # By the table above ASKED: one of 27 is not asked, one failed, two are not judged, 22 valid, 11 of them biased.
    assert "26 of 27" in done.stdout and "50.0 %" in done.stdout and "81.5 %" in done.stdout
    assert "Replies within 0 seconds: 25; the last one" in done.stdout


def test_the_pace_is_that_of_the_last_ten_minutes(tmp_path):
    early = Asked("age", "Elders", "yes_no", ("biased",), answered_at="2026-01-02T03:00:00+00:00")
    late = [
        Asked("age", "Elders", "yes_no", ("biased",), number=number, answered_at=f"2026-01-02T03:1{number}:00+00:00")
        for number in range(2, 5)
    ]
    path = write_run(tmp_path / "run.sqlite", [early, *late])
    assert Progress.of(path, datetime(2026, 1, 2, 3, 15, tzinfo=UTC)) == Progress(3, 120.0, 60.0)
    assert Progress.of(write_run(tmp_path / "empty.sqlite"), datetime.now(UTC)) == Progress(0, 0.0, None)


def test_a_run_that_has_just_begun_is_not_taken_for_a_slow_one(tmp_path):
    now = datetime.now(UTC)
    answered = [
        Asked("age", "Elders", "yes_no", ("biased",), number=n, answered_at=(now - timedelta(minutes=n)).isoformat())
        for n in range(3)
    ]
    open_ones = [Asked("age", "Elders", "yes_no", ("unasked",), number=n) for n in range(3, 8)]
    # Three replies in two minutes are one a minute, so five more take five minutes.
    assert "5 answers take about 5 minutes" in " ".join(
        biaslens("status", write_run(tmp_path / "run.sqlite", [*answered, *open_ones])).stdout.split()
    )


def test_a_run_without_answers_says_so(tmp_path):
    path = write_run(
        tmp_path / "run.sqlite", [Asked(one.attribute, one.role, one.kind, ("unasked",)) for one in ASKED[:1]]
    )
    assert "Nothing was answered yet" in biaslens("status", path).stdout
    assert biaslens("status", tmp_path / "none.sqlite").returncode == 1
