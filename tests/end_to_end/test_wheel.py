"""What is installed from the wheel works without the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_carries_prompts_and_benchmark(tmp_path: Path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import biaslens, biaslens.evaluation.prompting as p; from biaslens._util.files import resource; "
        "from biaslens.benchmark import load_bank; "
        "assert resource('prompts').parent.name == 'data', resource('prompts'); "
        "print(biaslens.__file__, len(biaslens.shipped_benchmark().questions) > 0, len(load_bank().roles) > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(tmp_path / "site" / "biaslens" / "__init__.py"), "True", "True"]
