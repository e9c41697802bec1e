"""Ask one chat model."""

from biaslens.models.base import ChatModel, Completion, Message, Params
from biaslens.models.registry import open_model, providers

__all__ = ["ChatModel", "Completion", "Message", "Params", "open_model", "providers"]
