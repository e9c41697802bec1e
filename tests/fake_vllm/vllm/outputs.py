from dataclasses import dataclass
from typing import Any


@dataclass
class CompletionOutput:
    text: str
    token_ids: list[int]
    logprobs: Any = None


@dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    prompt: str = ""
    metrics: Any = None
    prompt_logprobs: Any = None
    finished: bool = True
