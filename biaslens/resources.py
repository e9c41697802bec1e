"""Where the files that ship with the package lie."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """Path of a shipped folder (prompts, benchmark, screen): in the wheel, or in an editable checkout."""
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.exists() else _PACKAGE.parent / name
