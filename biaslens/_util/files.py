"""Find a shipped file, write one completely or not at all, and hold one for this process alone."""

from __future__ import annotations

import glob
import json
import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from biaslens._util.text import finite, safe_name
from biaslens.errors import RunLockedError, StorageError

_PACKAGE = Path(__file__).resolve().parents[1]
_HINT = "give another --out, or free some space"
_HOST = safe_name(platform.node(), fallback="host")


def resource(name: str) -> Path:
    """Path of a shipped folder (prompts, benchmark, screen): in the wheel, or in an editable checkout."""
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.exists() else _PACKAGE.parent / name


@contextmanager
def replacing(path: Path, *, hint: str = _HINT) -> Iterator[Path]:
    """Give a temporary path beside `path`, and when the block ends well put it on disk as `path`.

    Folders are made. When the block fails, what lay at `path` stays as it was. A symbolic link stays one: what it
    points to is replaced. What is no regular file, such as a device, is left alone. The hint says what to do where the
    file cannot be written.

    Raises `StorageError` when `path` is no regular file, its folder cannot be written, or the disk is full.
    """
    try:
        target = path.resolve()
        _check_regular(path, target)
        temporary = target.with_name(f".{target.name}.{_HOST}-{os.getpid()}.tmp")
    except (OSError, RuntimeError, ValueError) as error:
        raise _unwritable(path, error, hint) from error
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target)
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise _unwritable(path, error, hint) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _remove_abandoned(target: Path) -> None:
    """Remove what processes of this machine left beside the file when they were killed while writing it."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.{glob.escape(_HOST)}-*.tmp"):
        number = left.name.removesuffix(".tmp").rpartition("-")[2]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            left.unlink(missing_ok=True)
        except (OSError, ValueError):
            continue


def _check_regular(path: Path, target: Path) -> None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise StorageError(f"{path}: is a folder; give the name of a file")
    if not stat.S_ISREG(mode):
        raise StorageError(f"{path}: is no regular file, and only such a file is replaced; give another name")
    if not target.name:
        raise StorageError(f"{path}: names no file; give the name of one")


def _unwritable(path: Path, error: Exception, hint: str) -> StorageError:
    reason = getattr(error, "strerror", None) or error
    return StorageError(f"{path}: cannot be written ({reason}); {hint}")


def write_bytes(path: Path, data: bytes, *, hint: str = _HINT) -> None:
    """Write a file as `replacing` does."""
    with replacing(path, hint=hint) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str, *, hint: str = _HINT) -> None:
    """Write a UTF-8 file with its line ends as they are, as `replacing` does."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"), hint=hint)


def json_text(values: object, *, indent: int | None = 1) -> str:
    """Write as JSON that every reader takes: NaN and the infinities are null."""
    return json.dumps(finite(values), indent=indent, ensure_ascii=False, allow_nan=False)


def yaml_text(values: object) -> str:
    """Write as YAML, names in the order they are given."""
    import yaml

    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000))


def sync_folder(folder: Path) -> None:
    """Put the names of a folder's files on disk."""
    if os.name == "nt":  # Windows cannot open a folder, and need not
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock(path: Path, *, busy: str, hint: str) -> FileLock:
    """Take the lock file `path`, made where missing; `release` it when done.

    Raises `RunLockedError`, which says `busy`, when another process has it, and `StorageError`, with the hint, when it
    cannot be written.
    """
    taken = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        taken.acquire(timeout=0)
    except Timeout:
        raise RunLockedError(busy) from None
    except (OSError, ValueError) as error:
        raise _unwritable(path, error, hint) from error
    return taken
