"""Where models are reached, and which address may be given which key.

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
import tomllib
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from biaslens._util.files import json_text, write_text
from biaslens._util.text import one_line, shown_address
from biaslens.errors import SettingsError, StorageError, UnknownModelError
from biaslens.settings import CALLER, Endpoint, Settings


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a model's requests go, and the environment variable of the key that they go with, None where none is sent.

    The two come from places: "the environment", ".env", "biaslens.toml"; "" for an address that is shipped, None for a
    key that is not set. `shipped` says whether the package ships this address with this variable.
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

    def __str__(self) -> str:
        key = f"{self.key_variable} ({self.key_place or 'not set'})" if self.key_variable else "no key"
        return one_line(f"{key} to {shown_address(self.address)} ({self.place or 'shipped'})")


Confirm = Callable[[Destination], bool]

_CONFIRM: ContextVar[Confirm | None] = ContextVar("confirm", default=None)


def ask_with(confirm: Confirm | None) -> None:
    """Have `confirm` asked from now on before a key goes to an address for the first time; None: refuse."""
    _CONFIRM.set(confirm)


def is_trusted(destination: Destination) -> bool:
    """Whether the key may go there without anyone being asked."""
    return destination.same_place or _entry(destination) in _remembered()


def _require_trust(destination: Destination) -> None:
    """Let the key go there, after asking where that is needed; a SettingsError when the user did not confirm it."""
    if is_trusted(destination):
        return
    confirm = _CONFIRM.get()
    if confirm is None or not confirm(destination):
        raise SettingsError(
            f"not sent: {destination}; address and key come from different places. If you trust the address, give "
            f"--trust-address {shown_address(destination.address)} once, or set the address in the environment too"
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


@cache
def _shipped() -> dict[str, dict[str, Endpoint]]:
    text = files("biaslens.models").joinpath("endpoints.toml").read_text(encoding="utf-8")
    return {
        kind: {name: Endpoint.model_validate(values) for name, values in servers.items()}
        for kind, servers in tomllib.loads(text).items()
    }


def builtin() -> Mapping[str, Endpoint]:
    """Endpoints that need no configuration; one of the same name in ``biaslens.toml`` takes its namesake's place."""
    return _shipped()["compatible"]


def endpoint(name: str, settings: Settings) -> Endpoint:
    """Find a named endpoint: the user's own, else a built-in one, else it is an UnknownModelError."""
    known = {**builtin(), **settings.endpoints}
    if name not in known:
        raise UnknownModelError(
            f"no endpoint {name!r}; known: {', '.join(sorted(known))}; "
            f"add yours to biaslens.toml as [endpoints.{name or 'NAME'}] with base_url"
        )
    return known[name]


def server_of(name: str, settings: Settings) -> Endpoint | None:
    """Find the server of a model, with the address that the user has set; None for one in process or of a plugin.

    It is an UnknownModelError when `name` is of an endpoint that nobody has configured.
    """
    return _server(name, settings)[0]


def _server(name: str, settings: Settings) -> tuple[Endpoint | None, str]:
    """The server of a model, and the place where the user has set its address; "" where it is the shipped one."""
    provider, _, rest = name.partition("/")
    if provider == "compatible":
        label = rest.partition("/")[0]
        return endpoint(label, settings), settings.place(f"endpoints.{label}") if label in settings.endpoints else ""
    shipped = _shipped()["own"].get(provider)
    setting = f"{provider.removesuffix('-moderation')}_base_url"
    own: str | None = getattr(settings, setting, None) if shipped else None
    if shipped is None or own is None:
        return shipped, ""
    return shipped.model_copy(update={"base_url": own}), settings.place(setting)


def key_variable(name: str, settings: Settings) -> str | None:
    """Name the environment variable that a model's key is looked up in; None where it needs none that we know of."""
    server = server_of(name, settings)
    return server.key_variable if server else None


def destination(name: str, settings: Settings) -> Destination | None:
    """Say where a model's requests go and with which key; None for a model that runs in process or of a plugin."""
    server, place = _server(name, settings)
    if server is None:
        return None
    address, variable = server.base_url, server.key_variable
    shipped = [one for servers in _shipped().values() for one in servers.values() if one.key_variable]
    known = any(one.key_variable == variable and same_address(one.base_url, address) for one in shipped)
    key_place = settings.key_place(variable) if variable else None
    return Destination(address, variable, place, key_place, shipped=not place or known)


def key_for(name: str, settings: Settings) -> str:
    """Get the key that a model of ours is asked with; "none" where it needs none.

    Raises `SettingsError` when it is not set, or may not go to the model's address; see `biaslens.models.endpoints`;
    `UnknownModelError` when `name` is of an endpoint that nobody has configured.
    """
    where = destination(name, settings)
    if where is None or where.key_variable is None:
        return "none"
    key = settings.require_key(where.key_variable)
    _require_trust(where)
    return key.get_secret_value()


def own_destinations(settings: Settings) -> list[Destination]:
    """List the addresses that the user, or a file in the working directory, has set for keys to go to."""
    names = [provider + "/" for provider in _shipped()["own"] if provider != "openai-moderation"]
    names += [f"compatible/{label}/" for label in settings.endpoints]
    found = (destination(name, settings) for name in names)
    return [each for each in found if each is not None and not each.shipped and each.key_variable]


def rate_limits(name: str, settings: Settings) -> tuple[float | None, float | None]:
    """Requests and tokens per minute of a model's endpoint, where configured or fixed; None for no limit."""
    server = server_of(name, settings)
    return (server.requests_per_minute, server.tokens_per_minute) if server else (None, None)
