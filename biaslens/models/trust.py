"""Which key may go to which address.

A working directory may be somebody else's: its ``.env`` and ``biaslens.toml`` may name an address that collects keys,
or the variable of a key that is none of a model's. So a key goes to an address only where

- the address and the key's variable are those this package ships,
- or the address, the choice of the variable and the key come from one place (all from the environment, all from one
  file, or the address from the calling program),
- or the user has confirmed that this key may go to this address. That is kept in the user's own configuration folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from biaslens._util.files import json_text, write_text
from biaslens._util.text import one_line, shown_address
from biaslens.errors import SettingsError, StorageError
from biaslens.settings import CALLER


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a model's requests go, and with which key.

    Parameters
    ----------
    address
        The base URL.
    key_variable
        Environment variable of the key; None where none is sent.
    place
        Where the address comes from: "the environment", ".env", "biaslens.toml"; "" for one that is shipped.
    key_place
        Where the key comes from; None where it is not set.
    shipped
        Whether the package ships this address with this variable.
    """

    address: str
    key_variable: str | None
    place: str
    key_place: str | None
    shipped: bool

    @property
    def same_place(self) -> bool:
        """Whether nothing has to be confirmed."""
        return (
            self.key_variable is None
            or self.shipped
            or self.place == CALLER
            or (self.key_place is not None and self.place == self.key_place)
        )

    @property
    def shown(self) -> str:
        """The address as it may be shown and recorded."""
        return shown_address(self.address)

    def __str__(self) -> str:
        key = f"{self.key_variable} ({self.key_place or 'not set'})" if self.key_variable else "no key"
        return one_line(f"{key} to {self.shown} ({self.place or 'shipped'})")


Confirm = Callable[[Destination], bool]

_CONFIRM: ContextVar[Confirm | None] = ContextVar("confirm", default=None)


def ask_with(confirm: Confirm | None) -> None:
    """Have `confirm` asked from now on before a key goes to an address for the first time; None: refuse."""
    _CONFIRM.set(confirm)


@contextmanager
def confirming(confirm: Confirm) -> Iterator[None]:
    """Have `confirm` asked, within the block, before a key goes to an address for the first time."""
    token = _CONFIRM.set(confirm)
    try:
        yield
    finally:
        _CONFIRM.reset(token)


def is_trusted(destination: Destination) -> bool:
    """Whether the key may go there without anyone being asked."""
    return destination.same_place or _entry(destination) in _remembered()


def require_trust(destination: Destination) -> None:
    """Let the key go there, after asking where that is needed.

    Raises
    ------
    SettingsError
        When the user did not confirm it.
    """
    if is_trusted(destination):
        return
    confirm = _CONFIRM.get()
    if confirm is None or not confirm(destination):
        raise SettingsError(
            f"not sent: {destination}; address and key come from different places. If you trust the address, give "
            f"--trust-address {destination.shown} once, or set the address in the environment too"
        )
    _remember(destination)


def same_address(one: str, other: str) -> bool:
    """Whether two URLs lead to one server and path."""
    return _normal(one) == _normal(other)


def trust_file() -> Path:
    """Where confirmed addresses are kept."""
    # By the specification of XDG a relative path is no setting; here it would even be the working directory's.
    base = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".config") / "biaslens" / "trusted.json"


def _normal(url: str) -> str:
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme.lower()}://{host}:{port}{parts.path.rstrip('/').removesuffix('/v1')}"


def _entry(destination: Destination) -> tuple[str, str]:
    return _normal(destination.address), destination.key_variable or ""


def _remembered() -> set[tuple[str, str]]:
    path = trust_file()
    try:
        entries = json.loads(path.read_bytes())
        return {(str(entry["address"]), str(entry["key_variable"])) for entry in entries}
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise SettingsError(f"{path}: cannot be read; remove it, and confirm the addresses again") from None


def _remember(destination: Destination) -> None:
    entries = sorted(_remembered() | {_entry(destination)})
    text = json_text([{"address": address, "key_variable": variable} for address, variable in entries])
    path = trust_file()
    try:
        write_text(path, text + "\n")
    except StorageError as error:
        raise SettingsError(f"{error}; the address was confirmed and cannot be remembered") from None
