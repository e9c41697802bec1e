"""Where the study's release lies on this machine: in `BIASLENS_RELEASE`, or beside the checkout.

Nothing of it is copied. It is a folder with the archives ``answers-<model>.tar.xz`` and ``questions.tar.xz``, or the
unpacked tree.
"""

from __future__ import annotations

import csv
import io
import os
import tarfile
from pathlib import Path

import pytest

from biaslens.replication.release import ATTRIBUTES, KINDS, readable_options, without_role
from biaslens.schema import Kind

FOLDER = Path(os.environ.get("BIASLENS_RELEASE") or Path(__file__).parents[1].parent / "shared" / "release")

needs_release = pytest.mark.skipif(
    not (FOLDER / "answers").is_dir() and not any(FOLDER.glob("answers-*.tar.xz")),
    reason=f"the study's release is not in {FOLDER}; set BIASLENS_RELEASE to its folder",
)


def released_scores() -> dict[tuple[str, str, str, str, tuple[str, ...]], int]:
    """How many of the six models each question triggers, by attribute, role, kind, text and options."""
    if (FOLDER / "score").is_dir():
        files = {path.name: path.read_bytes() for path in (FOLDER / "score").glob("*_questions_score.csv")}
    else:
        with tarfile.open(FOLDER / "questions.tar.xz") as archive:
            members = [name for name in archive.getnames() if name.endswith("_questions_score.csv")]
            files = {Path(name).name: archive.extractfile(name).read() for name in members}
    found = {}
    for name, data in files.items():
        for row in csv.DictReader(io.StringIO(data.decode("utf-8", "replace"), newline="")):
            kind, text = KINDS[row["Question Type"]], without_role(row["Question"])[1]
            text, options = readable_options(text) if kind is Kind.CHOICE else (text, ())
            found[ATTRIBUTES[name.split("_")[0]], row["Role"], kind, text, options] = int(row["Score"])
    return found


def one_model() -> Path:
    """The archive of one model (Qwen, which has the most to trip over), or the unpacked tree."""
    archive = FOLDER / "answers-qwen.tar.xz"
    return archive if archive.is_file() else FOLDER
