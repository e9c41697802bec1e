"""The script that makes the shipped benchmark again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from biaslens.benchmark import from_encounters, read_encounters, write
from biaslens.benchmark.files import read_roles

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
    folder = tmp_path / "benchmark"
    for name in ("scripts/regenerate_benchmark.sh", "benchmark/encounters/roles.csv", "benchmark/encounters/age.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    roles = read_roles(folder / "encounters" / "roles.csv")
    write(from_encounters(roles, read_encounters(folder / "encounters", roles)), folder)
    assert regenerate(tmp_path).returncode == 0
    questions = (folder / "questions.csv").read_text(encoding="utf-8")
    (folder / "questions.csv").write_text(questions.replace("Would", "Should"), encoding="utf-8")
    done = regenerate(tmp_path)
    assert done.returncode == 1
    assert "questions.csv" in done.stdout + done.stderr
    assert "differ" in done.stdout + done.stderr
    assert done.stdout.count(": the same\n") == 2
