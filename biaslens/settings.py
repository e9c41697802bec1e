"""What the user sets: keys, base URLs, defaults and named endpoints.

Each setting comes from, first found wins: the caller, the environment, ``.env`` in the working directory, and
``biaslens.toml`` there (or where ``BIASLENS_CONFIG`` points).
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic_settings
from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
)
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from biaslens.errors import SettingsError

ENV_FILE = ".env"
CONFIG_FILE = "biaslens.toml"


def _checked_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not a URL that begins with http:// or https://")
    return url


Url = Annotated[str, AfterValidator(_checked_url)]
"""An HTTP base URL, such as "https://api.openai.com/v1"."""


class Endpoint(BaseModel):
    """A server that speaks OpenAI's chat completion protocol.

    Parameters
    ----------
    base_url
        What comes before ``/chat/completions``.
    key_variable
        Environment variable that holds its key; None for a server that asks for none.
    max_concurrency
        Most requests it can take at once.
    send_seed
        Whether it honours the ``seed`` parameter.
    tokens_parameter
        The name it has for the most tokens of an answer.
    json_schema
        Whether it takes a JSON schema for the answer, as ``response_format``.
    requests_per_minute, tokens_per_minute
        Its limits, where known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: Url
    key_variable: str | None = None
    max_concurrency: PositiveInt | None = None
    send_seed: bool = False
    tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    json_schema: bool = False
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None


class Settings(BaseSettings):
    """Keys, defaults and endpoints; `load_settings` makes it, with errors in plain words.

    Parameters
    ----------
    local_model
        GGUF file to use as the embedded model instead of the packaged one.
    threads
        Threads of a local model; None: one less than the machine's cores.
    runs
        Folder of the run files.
    request_timeout, connect_timeout
        Most seconds a request, or its connection, may take.
    openai_base_url, mistral_base_url, together_base_url, perspective_base_url
        Other servers to reach these providers at.
    endpoints
        Named endpoints, for ``compatible/NAME/MODEL``.
    models
        Additions to the catalogue of models and changes to it, by model name; see `biaslens.models.catalogue`.
    keys
        Keys by the name of their environment variable; those not here are looked up by `key`.
    """

    model_config = SettingsConfigDict(
        env_prefix="BIASLENS_",
        env_file=ENV_FILE,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    local_model: Path | None = None
    threads: PositiveInt | None = None
    runs: Path = Path("runs")
    request_timeout: PositiveFloat = 120.0
    connect_timeout: PositiveFloat = 10.0
    openai_base_url: Url | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    mistral_base_url: Url | None = Field(default=None, validation_alias="MISTRAL_BASE_URL")
    together_base_url: Url | None = Field(default=None, validation_alias="TOGETHER_BASE_URL")
    perspective_base_url: Url | None = Field(default=None, validation_alias="PERSPECTIVE_BASE_URL")
    endpoints: dict[str, Endpoint] = {}
    models: dict[str, dict[str, Any]] = {}
    keys: dict[str, SecretStr] = {}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the configuration file behind the caller, the environment and ``.env``."""
        del file_secret_settings
        file = InitSettingsSource(settings_cls, init_kwargs=_read_config())
        return init_settings, env_settings, dotenv_settings, file

    def key(self, variable: str) -> SecretStr | None:
        """Look a key up in the environment and in ``.env``; None where it is not set or empty.

        Raises
        ------
        SettingsError
            When it holds characters that no key has, such as a line break or a typographic quote.
        """
        known = self.keys.get(variable)
        text = known.get_secret_value() if known else os.environ.get(variable) or dotenv_values(ENV_FILE).get(variable)
        text = (text or "").strip()
        if not all(" " < character <= "~" for character in text):
            raise SettingsError(f"{variable} holds characters that no key has; copy the key again")
        return SecretStr(text) if text else None

    def require_key(self, variable: str) -> SecretStr:
        """Look a key up in the environment and in ``.env``.

        Raises
        ------
        SettingsError
            When it is not set, or cannot be a key.
        """
        key = self.key(variable)
        if key is None:
            raise SettingsError(f"{variable} is not set; `export {variable}=...`, or write it into {ENV_FILE} here")
        return key


def load_settings(**overrides: Any) -> Settings:  # noqa: ANN401 - whatever a field takes
    """Read the settings; `overrides` come before the environment and the files.

    Raises
    ------
    SettingsError
        When a file cannot be read or a value cannot be used; the message names it.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(f"{_place(first['loc'])}: {first['msg'].removeprefix('Value error, ')}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{ENV_FILE}: cannot be read: {error}") from None
    except pydantic_settings.SettingsError as error:
        raise SettingsError(f"{error}; this setting takes JSON") from None


def _place(location: tuple[int | str, ...]) -> str:
    """Where the user can change the setting at `location`."""
    name = str(location[0])
    field = Settings.model_fields.get(name)
    if field is None:
        return name
    if name in ("endpoints", "models"):
        return f"{_config_path()}, {'.'.join(str(part) for part in location)}"
    return f"setting {name} (BIASLENS_{name.upper()}, or in {_config_path()})"


def _config_path() -> Path:
    return Path(os.environ.get("BIASLENS_CONFIG") or dotenv_values(ENV_FILE).get("BIASLENS_CONFIG") or CONFIG_FILE)


def _read_config() -> dict[str, Any]:
    path = _config_path()
    if not path.exists() and path == Path(CONFIG_FILE):
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from None
    unknown = sorted(set(values) - (set(Settings.model_fields) - {"keys"}))
    if unknown:
        raise SettingsError(f"{path}: unknown setting {unknown[0]!r}")
    return values
