"""What the probe needs beyond a plain installation."""

from __future__ import annotations

from importlib.util import find_spec

from biaslens.errors import InputError


def require(*packages: str) -> None:
    """Refuse where one of the packages is not installed.

    Raises
    ------
    InputError
        That says what to install.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        what = "ray" if missing == ["ray"] else "'.[probe]'"
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(f"the probe needs {' and '.join(missing)}, which {verb} not installed; pip install {what}")
