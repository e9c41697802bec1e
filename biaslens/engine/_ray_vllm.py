"""Ask open weights without a server: vLLM, a stage of Ray Data LLM, answers the files of requests of an exchange.

What leaves the stage is stored block by block: the keys in the run file are the checkpoint. A worker that dies is
replaced, and its block is asked again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from biaslens._util import at_ray
from biaslens.engine._asking import Row, now
from biaslens.engine._batching import Place, answer_row
from biaslens.errors import InputError, RunStoppedError
from biaslens.models._batches import batch_answer
from biaslens.models.base import Completion
from biaslens.models.thoughts import CUT
from biaslens.runfile import Failure

NAME = "ray-vllm"
BLOCK = 64
"""Requests that are stored, or asked again, together, where the configuration says no other ``batch_size``."""

_ERROR = "__inference_error__"  # Ray's name: a row in which it is not "" passes by the stages
_OURS = {"should_continue_on_error": True, "chat_template_stage": False, "tokenize_stage": False}
_OF_TEMPLATE = ("reasoning_effort", "chat_template_kwargs")
_NOT_SAMPLING = frozenset({"model", "messages", "response_format", "service_tier", *_OF_TEMPLATE})
_LIMITS = ("max_tokens", "max_completion_tokens")
_ANSWERED = ("custom_id", "generated_text", "num_input_tokens", "num_generated_tokens")


class RayVllm:
    """vLLM on the Ray cluster that is connected to, else on this machine, as the engine of an `Exchange`.

    It answers requests for models named ``compatible/ENDPOINT/WEIGHTS``; the weights are a name on Hugging Face or a
    path, and the files of requests and the path are to be on storage that all nodes share. Prompts and defaults of
    sampling are what ``vllm serve`` makes of a request: the chat template's text without further special tokens, and
    the weights' own generation_config.json.

    `config` holds fields of Ray's ``vLLMEngineProcessorConfig``, such as ``concurrency`` and ``engine_kwargs``.

    Raises `InputError` where Ray or vLLM is not installed, or the configuration is none.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = {"detokenize_stage": False, "batch_size": BLOCK} | dict(config or {})
        missing = [name for name in ("ray", "vllm") if find_spec(name) is None]
        if missing:
            raise InputError(
                f"--engine {NAME} needs {' and '.join(missing)}, not installed here: pip install 'ray[llm]' on all "
                "nodes, which vLLM needs GPUs on"
            )
        self._processor_config("any")

    def require(self, model: str) -> str:
        """The weights that a model's name names; an InputError where it names none."""
        provider, _, rest = model.partition("/")
        weights = rest.partition("/")[2]
        if provider != "compatible" or not weights:
            raise InputError(
                f"{model}: --engine {NAME} runs open weights, named compatible/ENDPOINT/WEIGHTS, such as "
                "compatible/vllm/Qwen/Qwen3-8B; judges that are others can judge later, by `biaslens judge`"
            )
        return str(self._config.get("model_source", weights))

    def runtime(self, model: str) -> dict[str, str]:
        """What a model runs on, for the record."""
        import ray

        return {"engine": f"{NAME}, ray {ray.__version__}", "source": self.require(model)}

    def _processor_config(self, source: str) -> Any:  # noqa: ANN401 - Ray's
        from pydantic import ValidationError
        from ray.data.llm import vLLMEngineProcessorConfig

        ours = [name for name in _OURS if name in self._config]
        if ours:
            raise InputError(f"--engine-config: {', '.join(ours)} cannot be set; biaslens sets it")
        try:
            # Ray writes into the dictionaries that it is given.
            values = json.loads(json.dumps({"model_source": source} | self._config))
            return vLLMEngineProcessorConfig(**values, **_OURS)
        except (ValidationError, TypeError) as error:
            raise InputError(f"--engine-config: {error}") from error

    async def answers(self, model: str, places: Sequence[Place]) -> AsyncGenerator[list[Row], None]:
        """Answer the requests that stand in these places of files; answers and failures, block by block.

        Raises `RunStoppedError` where vLLM cannot be started, or Ray gives up.
        """
        loop = asyncio.get_running_loop()
        blocks: asyncio.Queue[list[Row] | Exception | None] = asyncio.Queue(maxsize=4)
        left = threading.Event()

        def hand_over(item: list[Row] | Exception | None) -> None:
            if not left.is_set():
                asyncio.run_coroutine_threadsafe(blocks.put(item), loop).result()

        def pump() -> None:
            try:
                for rows in self._answered(model, places):
                    hand_over(rows)
                    if left.is_set():
                        return
            except Exception as error:
                hand_over(error)
            else:
                hand_over(None)

        # A daemon: who stops twice does not wait for the block that is being computed.
        worker = threading.Thread(target=pump, name="biaslens-ray", daemon=True)
        try:
            with at_ray():
                worker.start()
                while (item := await blocks.get()) is not None:
                    if isinstance(item, Exception):
                        raise RunStoppedError(
                            f"{model}: {NAME} stopped: {_first_cause(item)}; what is answered is kept, and the same "
                            "command goes on"
                        ) from item
                    yield item
        finally:
            left.set()
            while not blocks.empty():
                blocks.get_nowait()

    def _answered(self, model: str, places: Sequence[Place]) -> Iterator[list[Row]]:
        import pyarrow as pa
        import ray
        from ray.data.llm import build_processor

        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False
        source = self.require(model)
        config = self._processor_config(source)
        kwargs = config.engine_kwargs
        weights = _Weights(source, bool(kwargs.get("trust_remote_code")), kwargs.get("max_model_len"))
        columns = {"path": [str(each.path.resolve()) for each in places], "offset": [each.offset for each in places]}
        table = pa.table(columns)
        parts = [table.slice(start, config.batch_size) for start in range(0, len(table), config.batch_size)]
        processor = build_processor(config, preprocess=partial(prepared, weights), postprocess=partial(kept, weights))
        dataset = processor(ray.data.from_arrow(parts).map_batches(read_requests, batch_format="pyarrow"))
        for block in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            yield [_row(each, model, source) for each in block.to_pylist()]


class _Weights(NamedTuple):
    source: str
    trust_remote_code: bool
    max_model_len: int | None


def read_requests(places: Any) -> Any:  # noqa: ANN401 - tables of pyarrow
    """Read the requests that stand in places of files, on any node."""
    import pyarrow as pa

    lines: list[str] = []
    for path, offsets in groupby(places.to_pylist(), lambda each: each["path"]):
        with Path(path).open("rb") as file:
            for each in offsets:
                file.seek(each["offset"])
                lines.append(file.readline().decode())
    return pa.table({"custom_id": [json.loads(line)["custom_id"] for line in lines], "request": lines})


@cache
def _tokenizer(weights: _Weights) -> Any:  # noqa: ANN401 - of transformers
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(weights.source, trust_remote_code=weights.trust_remote_code)


@cache
def _generation(weights: _Weights) -> dict[str, Any]:
    """What the weights' own generation_config.json says; nothing where there is none."""
    from transformers import GenerationConfig

    try:
        return dict(GenerationConfig.from_pretrained(weights.source).to_diff_dict())
    except OSError:
        return {}


_DEFAULTS = ("repetition_penalty", "temperature", "top_k", "top_p", "min_p")
"""Of generation_config.json, what vLLM's server takes for what a request leaves open."""


def prepared(weights: _Weights, row: Mapping[str, Any]) -> dict[str, Any]:
    """Make a row of vLLM's stage of a request; one whose prompt the model's template refuses is its own failure."""
    body = json.loads(row["request"])["body"]
    params = {name: value for name, value in body.items() if name not in _NOT_SAMPLING and name not in _LIMITS}
    known = _generation(weights)
    params = {name: known[name] for name in _DEFAULTS if known.get(name) is not None} | params
    # vLLM stops at 16 tokens where nothing is said, and at its context for None.
    params["max_tokens"] = next((body[name] for name in _LIMITS if body.get(name) is not None), None)
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is not None:
        params["structured_outputs"] = {"json": json.dumps(schema)}
    given = {name: body[name] for name in _OF_TEMPLATE if name in body}
    options = given.pop("chat_template_kwargs", {}) | given
    tokenizer = _tokenizer(weights)
    tokens: list[int] = []
    error = ""
    try:
        text = tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True, **options)
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    except Exception as found:  # whatever a template says in Jinja
        error = f"{type(found).__name__}: {found}"
    limit = -1 if params["max_tokens"] is None else params["max_tokens"]
    return {"tokenized_prompt": tokens, "sampling_params": params, "limit": limit, _ERROR: error}


def kept(weights: _Weights, row: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a row that vLLM answered. It tells no finish reason: an answer that came to its limit is cut."""
    sent, received = int(row["num_input_tokens"]), int(row["num_generated_tokens"])
    full = weights.max_model_len is not None and sent + received >= weights.max_model_len
    ends = _generation(weights).get("eos_token_id", _tokenizer(weights).eos_token_id)
    tokens = row["generated_tokens"]
    ended = len(tokens) > 0 and int(tokens[-1]) in (ends if isinstance(ends, list) else [ends])
    cut = not ended and (full or 0 <= row["limit"] <= received)
    return {name: row[name] for name in _ANSWERED} | {"finish_reason": CUT if cut else "stop"}


def _row(found: Mapping[str, Any], model: str, source: str) -> Row:
    key = found["custom_id"]
    if found[_ERROR]:
        return Failure(key, model, "RejectedError", f"{NAME}: {found[_ERROR]}", None, 1, now())
    usage = {"prompt_tokens": found["num_input_tokens"], "completion_tokens": found["num_generated_tokens"]}
    choice = {"message": {"content": found["generated_text"]}, "finish_reason": found["finish_reason"]}
    body = {"choices": [choice], "model": source, "usage": usage}
    answer = batch_answer({"custom_id": key, "response": {"status_code": 200, "body": body}}, model)
    if isinstance(answer, Completion):
        return answer_row(key, model, answer, price=None, attempts=1)
    return Failure(key, model, type(answer).__name__, str(answer), answer.status, 1, now())


def _first_cause(error: BaseException) -> str:
    """What went wrong in a worker, without the tracebacks that Ray wraps around it."""
    cause: BaseException | None = error
    said = ""
    while cause is not None:
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        said = lines[-1] if lines else said
        cause = getattr(cause, "cause", None) or cause.__cause__
    return said or type(error).__name__
