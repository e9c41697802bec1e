"""Servers known by name that speak OpenAI's chat completion protocol."""

from __future__ import annotations

from biaslens.errors import UnknownModelError
from biaslens.settings import Endpoint, Settings

KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "openai-moderation": "OPENAI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "together": "TOGETHER_API_KEY",
    "perspective": "PERSPECTIVE_API_KEY",
}
"""Environment variables that hold the keys of the providers with a server of their own."""

OPENAI = Endpoint(
    base_url="https://api.openai.com/v1",
    key_variable=KEY_VARIABLES["openai"],
    # Honoured "as best effort"; the fingerprint of the back end is what may still change an answer.
    send_seed=True,
    tokens_parameter="max_completion_tokens",
    json_schema=True,
)

# send_seed: only where the server's documentation lists the parameter; Google's rejects requests that carry it.
# json_schema: only where every model takes one; elsewhere it hangs on the model, and a refusal would stop the run.
BUILTIN = {
    "dashscope": Endpoint(
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        send_seed=True,
    ),
    "dashscope-cn": Endpoint(
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1", key_variable="DASHSCOPE_API_KEY", send_seed=True
    ),
    "deepseek": Endpoint(base_url="https://api.deepseek.com", key_variable="DEEPSEEK_API_KEY"),
    "gemini": Endpoint(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai", key_variable="GEMINI_API_KEY"
    ),
    "groq": Endpoint(base_url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY", send_seed=True),
    "llamacpp": Endpoint(base_url="http://localhost:8080/v1", send_seed=True, json_schema=True),
    "lmstudio": Endpoint(base_url="http://localhost:1234/v1", send_seed=True, json_schema=True),
    "ollama": Endpoint(base_url="http://localhost:11434/v1", send_seed=True, json_schema=True),
    "openrouter": Endpoint(base_url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY", send_seed=True),
    "vllm": Endpoint(base_url="http://localhost:8000/v1", send_seed=True, json_schema=True),
}
"""Endpoints that need no configuration; one of the same name in ``biaslens.toml`` takes the place of its namesake."""

_PERSPECTIVE_REQUESTS = 60.0
"""A minute: the quota of one request a second that a key has where Google granted no more."""


def endpoint(name: str, settings: Settings) -> Endpoint:
    """Find a named endpoint: the user's own, else a built-in one.

    Raises
    ------
    UnknownModelError
        When neither has the name.
    """
    known = {**BUILTIN, **settings.endpoints}
    if name not in known:
        raise UnknownModelError(
            f"no endpoint {name!r}; known: {', '.join(sorted(known))}; "
            f"add yours to biaslens.toml as [endpoints.{name or 'NAME'}] with base_url"
        )
    return known[name]


def key_variable(name: str, settings: Settings) -> str | None:
    """Name the environment variable that a model's key is looked up in; None where it needs none that we know of.

    Raises
    ------
    UnknownModelError
        When `name` is of an endpoint that nobody has configured.
    """
    server = _server(name, settings)
    return server.key_variable if server else KEY_VARIABLES.get(name.partition("/")[0])


def rate_limits(name: str, settings: Settings) -> tuple[float | None, float | None]:
    """Requests and tokens per minute of a model's endpoint, where configured or fixed; None for no limit.

    Raises
    ------
    UnknownModelError
        When `name` is of an endpoint that nobody has configured.
    """
    if name.startswith("perspective/"):
        return _PERSPECTIVE_REQUESTS, None
    server = _server(name, settings)
    return (server.requests_per_minute, server.tokens_per_minute) if server else (None, None)


def _server(name: str, settings: Settings) -> Endpoint | None:
    provider, _, rest = name.partition("/")
    return endpoint(rest.partition("/")[0], settings) if provider == "compatible" else None
