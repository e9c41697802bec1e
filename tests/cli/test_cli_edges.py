"""Odd options, names and streams: a line, never a traceback and never a hang."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command import COMMAND, biaslens, environment
from run_files import ASKED, write_run
from small import small_benchmark


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evaluate", "openai/m", "--run", ""), "names no file"),
        (("evaluate", "openai/m", "--run", "."), "names no file"),
        (("evaluate", "openai/m", "--trials", "1" + 20 * "0"), "1<=x<=1000"),
        (("evaluate", "openai/m", "--seed", "-1"), "0<=x<="),
        (("evaluate", "openai/m", "--failure-share", "nan"), "not a finite number"),
        (("evaluate", "openai/m", "--requests-per-minute", "nan"), "not a finite number"),
        (("evaluate", "openai/m", "--temperature", "inf"), "not a finite number"),
        (("evaluate", "openai/m", "--trust-address", "localhost:1"), "not a URL"),
        (("export", "r.sqlite", "--out", "."), "names no file"),
        (("sample", "r.sqlite", "--out", "s", "--margin", "nan"), "not a finite number"),
        (("assess", "t.csv", "--task", "generation", "--threshold", "nan"), "not a finite number"),
        (("assess", "t.csv", "--task", "generation", "--rounds", "99999999999"), "100<=x<=1000000"),
        (("annotate", "labels", "--as", "ann", "--port", "999999"), "0<=x<=65535"),
    ],
)
def test_an_option_beyond_its_bounds_is_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    done = biaslens(*arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said in " ".join(done.stderr.split())


def test_more_seeds_than_anyone_waits_for_are_refused() -> None:
    pytest.importorskip("torch")
    done = biaslens("probe", "tune", "m", "--data", "d", "--out", "o", "--seeds", "1-99999999999")
    assert done.returncode == 2
    assert "at most 1,000 seeds" in " ".join(done.stderr.split())


def test_a_thousand_groups_are_refused() -> None:
    rows = "\n".join(f"g{number},1,{number % 2}" for number in range(1000))
    Path("t.csv").write_text(f"group,label,prediction\n{rows}\n")
    done = biaslens("assess", "t.csv", "--task", "classification", "--group", "group", "--prediction", "prediction")
    assert done.returncode == 1
    assert "1,000 groups, each to be compared with each; at most 50" in done.stderr


@pytest.mark.parametrize("file", ["study.toml", "biaslens.toml"])
def test_toml_nested_too_deep_is_said(file: str) -> None:
    Path(file).write_text("a = " + "[" * 100_000)
    study = ("--study", file) if file == "study.toml" else ("openai/m",)
    done = biaslens("plan", *study)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{file}: " in done.stderr


def test_toml_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    benchmark = small_benchmark(tmp_path / "benchmark")
    for name, text in (
        ("biaslens.toml", "threads = 2\n"),
        ("study.toml", f'benchmark = "{benchmark}"\n[[models]]\nname = "openai/m"\n'),
    ):
        Path(name).write_text("\ufeff" + text, encoding="utf-8")
    done = biaslens("plan", "--study", "study.toml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [("report", "r.sqlite"), ("models",), ("analyze", "r.sqlite", "--json")])
def test_a_full_standard_output_is_a_line(command: tuple[str, ...]) -> None:
    write_run(Path("r.sqlite"), ASKED)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *command], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), check=False
        )
    assert (done.returncode, done.stderr) == (
        1,
        "biaslens: standard output: No space left on device; free some space or name another\n",
    )


def test_who_stops_reading_hears_nothing() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "models"], stdout=write, stderr=subprocess.PIPE, text=True, env=environment(), check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_path_that_is_no_text_is_shown() -> None:
    path = Path(os.fsdecode(b"r\xff.sqlite"))
    write_run(path, ASKED)
    done = biaslens("report", path)
    assert done.returncode == 0, done.stderr
    done = biaslens("export", path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "Traceback" not in biaslens("report", os.fsdecode(b"no\xff.sqlite")).stderr


def test_a_device_is_not_replaced() -> None:
    write_run(Path("r.sqlite"), ASKED)
    os.mkfifo("device.csv")
    done = biaslens("export", "r.sqlite", "--out", "device.csv")
    assert done.returncode == 1
    assert "device.csv: is no regular file" in done.stderr
    assert Path("device.csv").is_fifo()


def test_a_model_called_like_a_formula_runs_in_no_spreadsheet() -> None:
    write_run(Path("r.sqlite"), ASKED, model="=cmd|' /C calc'!A0")
    assert biaslens("leaderboard", "r.sqlite", "--out", "board").returncode == 0
    assert biaslens("analyze", "r.sqlite", "--out", "tables").returncode == 0
    for path in [*Path("board").glob("*.csv"), *Path("tables").glob("*.csv")]:
        assert ",=cmd" not in path.read_text(), path
        assert not path.read_text().startswith("=cmd")
        assert "\n=cmd" not in path.read_text(), path
    assert "'=cmd" in Path("board/leaderboard.csv").read_text()
