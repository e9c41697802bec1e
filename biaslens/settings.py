"""What the user sets: keys, base URLs, defaults and named endpoints.

Each setting comes from, first found wins: the caller, the environment, ``.env`` in the working directory, and
``biaslens.toml`` there (or where ``BIASLENS_CONFIG`` points). Files are taken as they are: nothing of the environment
is put into them. Where an address and its key came from is remembered: `biaslens.models.endpoints` compares the two.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError
from pydantic.types import PositiveFloat, PositiveInt

from biaslens._util.text import keep_secret, secrets_of, shown_address
from biaslens.errors import SettingsError

CALLER = "the caller"
ENVIRONMENT = "the environment"
ENV_FILE = ".env"
CONFIG_FILE = "biaslens.toml"

_PREFIX = "BIASLENS_"
_BY_NAME = ("endpoints", "models", "keys")
"""Settings that are tables; each of their entries comes whole from one place."""


def _checked_url(url: str) -> str:
    for secret in secrets_of(url):
        keep_secret(secret)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{shown_address(url)!r} is not a URL that begins with http:// or https://")
    _ = urlsplit(url).port  # raises ValueError where it is none
    if not urlsplit(url).hostname:
        raise ValueError(f"{shown_address(url)!r} names no host")
    if "${" in url:
        raise ValueError(f"{shown_address(url)!r} names a variable; variables are not put into addresses")
    return url


Url = Annotated[str, AfterValidator(_checked_url)]
"""An HTTP base URL, such as "https://api.openai.com/v1"."""


class Endpoint(BaseModel):
    """A server that speaks OpenAI's chat completion protocol."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base_url: Url  #: what comes before ``/chat/completions``
    key_variable: str | None = None  #: environment variable that holds its key; None for a server that asks for none
    max_concurrency: PositiveInt | None = None  #: most requests it can take at once
    send_seed: bool = False  #: whether it honours the ``seed`` parameter
    #: the name it has for the most tokens of an answer
    tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    json_schema: bool = False  #: whether it takes a JSON schema for the answer, as ``response_format``
    transport: Literal["lean", "sdk"] = "lean"  #: what asks it: a few lines over aiohttp, or OpenAI's SDK
    #: its limits, where known
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None


class Settings(BaseModel):
    """Keys, defaults and endpoints; `load_settings` makes it, with errors in plain words."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, allow_inf_nan=False)

    local_model: Path | None = None  #: GGUF file to use as the embedded model instead of the packaged one
    threads: PositiveInt | None = None  #: threads of a local model; None: one less than the machine's cores
    runs: Path = Path("runs")  #: folder of the run files
    #: most seconds a request, or its connection, may take
    request_timeout: PositiveFloat = 120.0
    connect_timeout: PositiveFloat = 10.0
    #: other servers to reach these providers at
    openai_base_url: Url | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    mistral_base_url: Url | None = Field(default=None, validation_alias="MISTRAL_BASE_URL")
    together_base_url: Url | None = Field(default=None, validation_alias="TOGETHER_BASE_URL")
    perspective_base_url: Url | None = Field(default=None, validation_alias="PERSPECTIVE_BASE_URL")
    azure_base_url: Url | None = Field(default=None, validation_alias="AZURE_OPENAI_ENDPOINT")  #: of the resource
    azure_api_version: str | None = Field(default=None, validation_alias="OPENAI_API_VERSION")  #: None for the v1 API
    endpoints: dict[str, Endpoint] = {}  #: named endpoints, for ``compatible/NAME/MODEL``
    #: additions to the catalogue of models and changes to it, by model name; see `biaslens.models.catalogue`
    models: dict[str, dict[str, Any]] = {}
    #: keys by the name of their environment variable; those not here are looked up by `key`
    keys: dict[str, SecretStr] = {}

    _places: dict[str, str] = PrivateAttr(default_factory=dict)

    def place(self, name: str) -> str:
        """Where a setting, or an entry of a table such as "endpoints.lab", came from; the caller where not noted."""
        return self._places.get(name, CALLER)

    def key_place(self, variable: str) -> str | None:
        """Where the key of this name came from; None where it is not set."""
        if self.key(variable) is None:
            return None
        if variable in self.keys:
            return self.place(f"keys.{variable}")
        return ENVIRONMENT if os.environ.get(variable) else ENV_FILE

    def key(self, variable: str) -> SecretStr | None:
        """Look a key up in the environment and in ``.env``; None where it is not set or empty.

        Raises `SettingsError` when it holds characters that no key has, such as a line break or a typographic quote.
        """
        known = self.keys.get(variable)
        text = known.get_secret_value() if known else os.environ.get(variable) or _env_file().get(variable)
        text = (text or "").strip()
        keep_secret(text)
        if not all(" " < character <= "~" for character in text):
            raise SettingsError(f"{variable} holds characters that no key has; copy the key again")
        return SecretStr(text) if text else None

    def require_key(self, variable: str) -> SecretStr:
        """Look a key up in the environment and in ``.env``.

        Raises `SettingsError` when it is not set, or cannot be a key.
        """
        key = self.key(variable)
        if key is None:
            raise SettingsError(f"{variable} is not set; `export {variable}=...`, or write it into {ENV_FILE} here")
        return key


def load_settings(**overrides: Any) -> Settings:  # noqa: ANN401 - whatever a field takes
    """Read the settings; `overrides` come before the environment and the files.

    Raises `SettingsError` when a file cannot be read, a value cannot be used, or a file of the working directory puts
    run files outside of it; the message names it.
    """
    named = os.environ.get(f"{_PREFIX}CONFIG")
    config = Path(named or _env_file().get(f"{_PREFIX}CONFIG") or CONFIG_FILE)
    # A file that the environment names by its full path is as much the user's own as the environment.
    place = ENVIRONMENT if named and config.is_absolute() else str(config)
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for source, found in (
        (CALLER, overrides),
        (ENVIRONMENT, _of_variables(os.environ)),
        (ENV_FILE, _of_variables(_env_file())),
        (place, _read_config(config)),
    ):
        _merge(values, places, found, source)
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(f"{_place(first['loc'], config)}: {first['msg'].removeprefix('Value error, ')}") from None
    settings._places.update(places)
    own = settings.place("runs") in (CALLER, ENVIRONMENT)
    if not own and not settings.runs.resolve().is_relative_to(Path.cwd().resolve()):
        raise SettingsError(
            f"{settings.place('runs')}: runs = {str(settings.runs)!r} lies outside the working directory; "
            f"name a folder in it, or set {_PREFIX}RUNS in the environment"
        )
    return settings


def _merge(values: dict[str, Any], places: dict[str, str], found: Mapping[str, Any], source: str) -> None:
    """Add what is not set yet, and note where it came from."""
    for name, value in found.items():
        if name in _BY_NAME and isinstance(value, Mapping) and isinstance(values.get(name, {}), dict):
            entries = values.setdefault(name, {})
            for entry, content in value.items():
                if entry not in entries:
                    entries[entry] = content
                    places[f"{name}.{entry}"] = source
        elif name not in values:
            values[name] = value
            places[name] = source


def _env_file() -> Mapping[str, str | None]:
    try:
        return dotenv_values(ENV_FILE, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{ENV_FILE}: cannot be read: {error}") from None


def _variable(name: str) -> str:
    alias = Settings.model_fields[name].validation_alias
    return alias if isinstance(alias, str) else _PREFIX + name.upper()


def _of_variables(variables: Mapping[str, str | None]) -> dict[str, Any]:
    """Read the settings that stand in variables; tables stand there as JSON."""
    found: dict[str, Any] = {}
    for name in Settings.model_fields:
        text = variables.get(_variable(name))
        if not text:
            continue
        if name not in _BY_NAME:
            found[name] = text
            continue
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            raise SettingsError(f"{_variable(name)} (setting {name}) takes JSON, and this is none") from None
    return found


def _place(location: tuple[int | str, ...], config: Path) -> str:
    """Where the user can change the setting at `location`."""
    name = str(location[0])
    field = Settings.model_fields.get(name)
    if field is None:
        return name
    if name in _BY_NAME:
        return f"{config}, {'.'.join(str(part) for part in location)}"
    return f"setting {name} ({_variable(name)}, or in {config})"


def _read_config(path: Path) -> dict[str, Any]:
    if path == Path(CONFIG_FILE) and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from None
    except RecursionError:
        raise SettingsError(f"{path}: cannot be read as TOML: nested too deep") from None
    unknown = sorted(set(values) - (set(Settings.model_fields) - {"keys"}))
    if unknown:
        raise SettingsError(f"{path}: unknown setting {unknown[0]!r}")
    return values
