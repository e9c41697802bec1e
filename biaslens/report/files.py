"""Write a file completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biaslens.errors import StorageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, and rename it to `path` when the block ends well.

    Folders are made. When the block fails, what lay at `path` stays as it was.

    Raises
    ------
    StorageError
        When the folder cannot be written, or the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written ({error.strerror or error}); give another --out, or free some space"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
