"""The ground floor: what every part needs and none of them owns."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from sys import modules

_PACKAGE = Path(__file__).resolve().parents[1]


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package whose names are imported when they are first used.

    `homes` has the names that each module holds, with spaces between them. So the command line starts without the
    libraries that most commands do not need.
    """

    def get(name: str) -> object:
        for module, names in homes.items():
            if name in names.split():
                found: object = getattr(import_module(module), name)
                setattr(modules[package], name, found)
                return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get


def resource(name: str) -> Path:
    """Path of a shipped folder (prompts, benchmark, screen): in the wheel, or in an editable checkout."""
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.exists() else _PACKAGE.parent / name
