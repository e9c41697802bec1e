"""Where the study's release lies on this machine: in `BIASLENS_RELEASE`, or beside the checkout.

Nothing of it is copied. It is a folder with the archives ``answers-<model>.tar.xz`` and ``questions.tar.xz``, or the
unpacked tree.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("BIASLENS_RELEASE") or Path(__file__).parents[1].parent / "shared" / "release")

needs_release = pytest.mark.skipif(
    not (FOLDER / "answers").is_dir() and not any(FOLDER.glob("answers-*.tar.xz")),
    reason=f"the study's release is not in {FOLDER}; set BIASLENS_RELEASE to its folder",
)


def one_model() -> Path:
    """The archive of one model (Qwen, which has the most to trip over), or the unpacked tree."""
    archive = FOLDER / "answers-qwen.tar.xz"
    return archive if archive.is_file() else FOLDER
