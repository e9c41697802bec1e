"""Ask one chat model."""

from biaslens.models.base import (
    ChatModel,
    Completion,
    JsonSchema,
    Message,
    Params,
    StructuredParams,
    open_model,
    provider_of,
    providers,
)

__all__ = [
    "ChatModel", "Completion", "JsonSchema", "Message", "Params", "StructuredParams", "open_model", "provider_of",
    "providers",
]  # fmt: skip
