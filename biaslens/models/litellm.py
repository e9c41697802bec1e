"""The providers that LiteLLM reaches: Bedrock, Vertex, and many more. Needs the extra ``litellm``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import openai

from biaslens._util.text import keep_secret
from biaslens.errors import ReplyError, SettingsError
from biaslens.models import catalogue
from biaslens.models._bodies import read_completion, request_body
from biaslens.models._http import connection_error, refused, status_error, time_limit
from biaslens.models.base import Completion, Message, Params
from biaslens.settings import Settings

_SECRETS = ("_API_KEY", "_ACCESS_KEY", "_ACCESS_KEY_ID", "_TOKEN", "_CREDENTIALS")


class LiteLLMModel:
    """A model asked through LiteLLM, by its name there: ``litellm/bedrock/anthropic.claude-...``.

    LiteLLM finds keys and addresses in the environment by names of its own; ``.env`` and ``biaslens.toml`` are not read
    for it. A request that the provider's filter refused is an empty answer.
    """

    max_concurrency: int | None = None

    def __init__(self, model_id: str, settings: Settings) -> None:
        # Else it reads .env of the working directory, and a price list from the network, when it is imported.
        os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        try:
            import litellm
        except ImportError as error:
            raise SettingsError(f"litellm/{model_id}: litellm is missing; pip install 'biaslens[litellm]'") from error
        for name, value in os.environ.items():
            if name.endswith(_SECRETS):
                keep_secret(value)
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        self.name = f"litellm/{model_id}"
        self.runtime: Mapping[str, str] = {"sdk": f"litellm {_version()}"}
        self._model_id = model_id
        self._timeout = settings.request_timeout
        self._litellm: Any = litellm
        self._opened = catalogue.opens_thought(self.name)

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``litellm/NAME``."""
        return cls(model_id, settings)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        body = request_body(self._model_id, messages, params, json_schema="schema")
        try:
            async with time_limit("litellm", self._timeout):
                reply = await self._litellm.acompletion(
                    **body, timeout=self._timeout, num_retries=0, max_retries=0, no_log=True
                )
        except self._litellm.ContentPolicyViolationError as error:
            return refused(
                "litellm", self._model_id, 400, {"code": "content_policy_violation", "message": str(error)}, {}
            )
        except (openai.APITimeoutError, openai.APIConnectionError) as error:
            raise connection_error("litellm", self._model_id, error) from error
        except openai.APIStatusError as error:
            headers = getattr(error.response, "headers", None) or {}
            detail = {"message": error.message, "code": error.code} | (
                error.body if isinstance(error.body, dict) else {}
            )
            return refused("litellm", self._model_id, error.status_code, detail, headers)
        except openai.OpenAIError as error:
            status = getattr(error, "status_code", None)
            raise status_error("litellm", int(status or 500), {"message": str(error)}, {}) from error
        except (ValueError, TypeError, KeyError, ImportError) as error:
            raise ReplyError(f"litellm: {type(error).__name__}: {error}") from error
        return read_completion("litellm", reply, opened=self._opened)

    async def close(self) -> None:
        """Close the connections."""
        await self._litellm.close_litellm_async_clients()


def _version() -> str:
    from importlib.metadata import version

    return version("litellm")
