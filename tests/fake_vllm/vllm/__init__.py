"""A stand-in for vLLM behind the few names that Ray Data LLM uses of it: the engine answers by rule, on any machine.

Parameters that vLLM's own classes do not know are a TypeError here as there. Each request is a line of
$FAKE_VLLM_LOG: the process, and the parameters of sampling.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vllm import outputs, sampling_params

__all__ = ["AsyncEngineArgs", "AsyncLLMEngine", "SamplingParams", "outputs", "sampling_params"]


@dataclasses.dataclass
class SamplingParams:
    """Those fields of vLLM's class that requests use."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: Any = None
    max_tokens: int | None = 16
    structured_outputs: Any = None


class AsyncEngineArgs:
    def __init__(
        self,
        *,
        model: str,
        runner: str,
        distributed_executor_backend: str,
        enable_log_requests: bool,
        fault: str = "",
    ) -> None:
        assert (runner, distributed_executor_backend) == ("generate", "uni")
        self.model, self.fault = model, fault

    def create_engine_config(self) -> SimpleNamespace:
        return SimpleNamespace(
            scheduler_config=SimpleNamespace(max_num_seqs=4),
            parallel_config=SimpleNamespace(pipeline_parallel_size=1),
        )


class AsyncLLMEngine:
    def __init__(self, args: AsyncEngineArgs) -> None:
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(args.model)

    @classmethod
    def from_engine_args(cls, args: AsyncEngineArgs, stat_loggers: object = None) -> AsyncLLMEngine:
        if args.fault:
            raise RuntimeError(args.fault)
        return cls(args)

    async def generate(
        self, *, request_id: str, prompt: dict[str, Any], sampling_params: SamplingParams, lora_request: object
    ) -> AsyncIterator[outputs.RequestOutput]:
        sent = prompt["prompt_token_ids"]
        text = self.tokenizer.decode(sent)
        with Path(os.environ["FAKE_VLLM_LOG"]).open("a") as log:
            record = {"pid": os.getpid(), "prompt": text, "params": dataclasses.asdict(sampling_params)}
            log.write(json.dumps(record) + "\n")
        await asyncio.sleep(0.02)
        if "Nurses 3?" in text and sampling_params.max_tokens == 2:
            raise ValueError("the prompt is longer than the model's context")
        answer = "(C)" if "Who" in text else "<think>Why indeed?</think>They are not." if "Why" in text else "No."
        tokens = [*self.tokenizer(answer, add_special_tokens=False)["input_ids"], self.tokenizer.eos_token_id][
            : sampling_params.max_tokens
        ]
        said = self.tokenizer.decode(tokens, skip_special_tokens=True)
        yield outputs.RequestOutput(sent, [outputs.CompletionOutput(said, tokens)])

    async def do_log_stats(self) -> None:
        pass

    def shutdown(self) -> None:
        pass
