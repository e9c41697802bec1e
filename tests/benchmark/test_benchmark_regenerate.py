"""The script that makes the shipped benchmark again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def regenerate(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", root / "scripts" / "regenerate_benchmark.sh"],
        env={**os.environ, "BIASLENS_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


def test_the_shipped_benchmark_is_made_again_byte_for_byte() -> None:
    done = regenerate(ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": the same\n") == 3


def test_a_difference_shows_in_the_exit_code(tmp_path: Path) -> None:
    for name in ("scripts/regenerate_benchmark.sh", "benchmark/roles.csv", "benchmark/benchmark.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    questions = (ROOT / "benchmark" / "questions.csv").read_text(encoding="utf-8")
    (tmp_path / "benchmark" / "questions.csv").write_text(questions.replace("kinder", "nicer"), encoding="utf-8")
    done = regenerate(tmp_path)
    assert done.returncode == 1
    assert "questions.csv" in done.stdout + done.stderr
    assert "differ" in done.stdout + done.stderr
    assert done.stdout.count(": the same\n") == 2
