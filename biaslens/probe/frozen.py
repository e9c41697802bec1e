"""Load any causal language model that transformers can load, and freeze it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from biaslens.errors import InputError
from biaslens.models.weights import embedded_weights
from biaslens.probe.backbone import Frozen
from biaslens.probe.extra import require
from biaslens.probe.labels import NAMES
from biaslens.probe.vocabulary import beginning, label_words
from biaslens.settings import load_settings

EMBEDDED = "local/smollm2"
"""Name of the model whose weights this package can fetch (`biaslens fetch`)."""
_UNLIMITED = 1_000_000
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.05}
"""How far logits of one text may lie apart, alone and in a padded batch, for the largest logit of 1 or of 10."""


def load_frozen(model: str, *, device: str = "auto", dtype: str | None = None, words: Sequence[str] = NAMES) -> Frozen:
    """Load a causal language model, frozen.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, a GGUF file, or "local/smollm2", the embedded model.
    device
        Of torch; "auto" is a GPU where there is one.
    dtype
        "float32", "bfloat16" or "float16"; by default bfloat16 on a GPU and float32 on a CPU, which takes no other.
    words
        Label words for negative, neutral and positive.

    Raises
    ------
    InputError
        When torch or transformers is missing, nothing can be loaded, the model is no causal language model, or the
        label words cannot be told apart by one token.
    """
    require("torch", "transformers")
    import torch

    device = _device(device)
    dtype = dtype or ("bfloat16" if device.startswith("cuda") else "float32")
    if device == "cpu" and dtype != "float32":
        raise InputError(f"{dtype} weights on a CPU are slow and inexact; leave them float32")
    tokenizer, network = _load(model, getattr(torch, dtype))
    return freeze(network.to(device), tokenizer, name=model, device=device, dtype=dtype, words=words)


def freeze(
    network: Any,  # noqa: ANN401 - any PreTrainedModel
    tokenizer: Any,  # noqa: ANN401 - any tokenizer of transformers
    *,
    name: str,
    device: str = "cpu",
    dtype: str = "float32",
    words: Sequence[str] = NAMES,
) -> Frozen:
    """Freeze a model that is there; see `load_frozen`. The model is changed: it stops learning."""
    _refuse_others(name, network.config)
    network.requires_grad_(requires_grad=False)
    network.eval()
    bos, note = beginning(tokenizer)
    chosen = label_words(tokenizer, words)
    limit = getattr(network.config.get_text_config(), "max_position_embeddings", None) or _UNLIMITED
    notes = tuple(filter(None, (note, chosen.note)))
    frozen = Frozen(name, network, tokenizer, device, dtype, bos, chosen, int(limit), notes)
    head = network.get_output_embeddings()
    if head is None:
        raise InputError(f"{name}: {frozen.architecture} has no output head to read the next token from")
    head.register_forward_pre_hook(frozen.head)
    return _checked(frozen)


def _device(device: str) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device {device}: {str(error).splitlines()[0]}") from None
    return device


def _load(model: str, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401 - torch's dtype
    import transformers

    path = _embedded() if model == EMBEDDED else Path(model.removeprefix("local/")).expanduser()
    source, extra = str(path) if path.exists() else model, {}
    if source.endswith(".gguf"):
        require("gguf", "accelerate")
        source, extra = str(path.parent), {"gguf_file": path.name}
    try:
        with _quiet():
            config = transformers.AutoConfig.from_pretrained(source, **extra)
            _refuse_others(model, config)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **extra)
            network = transformers.AutoModelForCausalLM.from_pretrained(source, config=config, dtype=dtype, **extra)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        line = " ".join(str(error).split())[:200]
        raise InputError(
            f"{model}: no causal language model can be loaded from there ({line}); give a folder, a GGUF file, or a "
            "name on the hub that this machine has or can reach"
        ) from error
    return tokenizer, network


def _embedded() -> Path:
    return load_settings().local_model or embedded_weights()


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and remarks of a library whose work here takes seconds."""
    from transformers.utils import logging as shown

    level = shown.get_verbosity()
    shown.set_verbosity(logging.ERROR)
    shown.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        shown.set_verbosity(level)
        shown.enable_progress_bar()  # type: ignore[no-untyped-call]


def _refuse_others(name: str, config: Any) -> None:  # noqa: ANN401 - transformers' config
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise InputError(
            f"{name}: {kind} is an encoder-decoder; the probe needs a causal (decoder-only) language model"
        )
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False):
        raise InputError(f"{name}: {kind} is an encoder; the probe needs a causal (decoder-only) language model")


def _checked(frozen: Frozen) -> Frozen:
    """Check that one text has the same logits alone, in full, and beside a longer one.

    Raises
    ------
    InputError
        When it has not: the architecture looks ahead, or counts positions in another way.
    """
    import torch

    short, long = frozen.encode(["It is.", "It is a text, and another one is here."], 2)
    ids = torch.tensor([[frozen.bos, frozen.bos, *short]], device=frozen.device)
    with torch.no_grad():
        expected = frozen.network(input_ids=ids).logits[0, -1].float()
        vectors = frozen.embed(ids[0, :2])
        if not _close(frozen.last_logits(vectors, [short, long])[0], expected, frozen.dtype):
            raise InputError(
                f"{frozen.name}: {frozen.architecture} gives a text other logits beside a longer one than alone; the "
                "probe needs a causal language model whose positions count from the first token"
            )
        shared = replace(frozen, shares_prompt=True)
        try:
            same = _close(shared.last_logits(vectors, [short, long])[0], expected, frozen.dtype)
        except (AttributeError, TypeError, ValueError, NotImplementedError, RuntimeError):
            same = False
    # On a GPU a small model waits for kernels to start, and a second pass over the prompt starts as many again.
    return shared if same and frozen.device == "cpu" else frozen


def _close(found: Any, expected: Any, dtype: str) -> bool:  # noqa: ANN401 - tensors
    scale = max(1.0, float(expected.abs().max()))
    return float((found - expected).abs().max()) <= _TOLERANCE[dtype] * scale / 10
