"""A frozen causal language model, asked for its next token after a soft prompt and a text."""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biaslens.errors import InputError
from biaslens.models.local import embedded_weights
from biaslens.probe.examples import NAMES
from biaslens.settings import load_settings

if TYPE_CHECKING:
    from torch import Tensor


def require(*packages: str) -> None:
    """Refuse where one of the packages is not installed, and say what to install."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        what = "ray" if missing == ["ray"] else "'.[probe]'"
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(f"the probe needs {' and '.join(missing)}, which {verb} not installed; pip install {what}")


_CARRIERS = ("It is a text.", "This is so good", "the end")
"""Texts after which a label word is tokenised; where one of them merges with the word, the next is tried."""


class LabelWords(NamedTuple):
    """The words of the labels in their order, and the one token of each that the model is asked for."""

    words: tuple[str, ...]
    ids: tuple[int, ...]
    note: str = ""


def beginning(tokenizer: Any) -> tuple[int, str]:  # noqa: ANN401 - transformers' tokenizers share no public type
    """Token whose embedding the prompt starts from, and a note where it is not the beginning-of-sequence token."""
    lacking = "the tokenizer has no beginning-of-sequence token;"
    for kind in ("bos", "eos", "cls", "sep", "pad", "unk"):
        found = getattr(tokenizer, f"{kind}_token_id", None)
        if found is not None:
            token = getattr(tokenizer, f"{kind}_token")
            return int(found), "" if kind == "bos" else f"{lacking} its {kind} token {token!r} is used"
    return 0, f"{lacking} the first of its vocabulary, {tokenizer.convert_ids_to_tokens(0)!r}, is used"


def label_words(tokenizer: Any, words: Sequence[str] = NAMES) -> LabelWords:  # noqa: ANN401 - see above
    """Find the one token of each label's word after a text; InputError where two of them cannot be told apart."""
    if len(words) != len(NAMES) or not all(word.strip() for word in words):
        raise InputError(f"--label-words {','.join(words)}: give three, for {', '.join(NAMES)} in this order")
    shown = [word.strip() for word in words]
    tokens = [_after_text(tokenizer, word) for word in shown]
    first = [ids[0] for ids in tokens]
    if len(set(first)) < len(first):
        pieces = "; ".join(
            f"{word} = {' '.join(map(repr, tokenizer.convert_ids_to_tokens(ids)))}"
            for word, ids in zip(shown, tokens, strict=True)
        )
        raise InputError(
            f"label words that begin with the same token ({pieces}); give others with --label-words, "
            f"for {', '.join(NAMES)} in this order"
        )
    long = [word for word, ids in zip(shown, tokens, strict=True) if len(ids) > 1]
    note = f"of label words of several tokens, the first is asked for: {', '.join(long)}" if long else ""
    return LabelWords(tuple(shown), tuple(first), note)


def _after_text(tokenizer: Any, word: str) -> list[int]:  # noqa: ANN401 - see above
    for carrier in _CARRIERS:
        before = tokenizer(carrier, add_special_tokens=False)["input_ids"]
        both: list[int] = tokenizer(f"{carrier} {word}", add_special_tokens=False)["input_ids"]
        if both[: len(before)] == before and len(both) > len(before):
            return both[len(before) :]
    raise InputError(f"label word {word!r}: this tokenizer merges it with the text before it; give other --label-words")


_SAMPLE = 4096


@dataclass(slots=True)
class Head:
    """Keeps, of the hidden states that reach the output head, those at given places only.

    The architecture's own forward pass does the rest (final norm, projection, logit scale, soft-capping), so its
    logits at those places are the full pass's, and the head is computed once a text instead of once a token.
    """

    places: Tensor | None = None

    def __call__(self, _module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ANN401 - torch's hook
        """Pre-hook of the output head."""
        if self.places is None:
            return inputs
        rows = self.places.view(-1, 1, 1).expand(-1, 1, inputs[0].shape[-1])
        return (inputs[0].gather(1, rows), *inputs[1:])

    @contextmanager
    def at(self, places: Tensor) -> Iterator[None]:
        """Ask for these places only, one a row, within the context."""
        self.places = places
        try:
            yield
        finally:
            self.places = None


@dataclass(frozen=True, slots=True)
class Frozen:
    """A causal language model whose weights stay as they are.

    Texts are padded to the right. A causal model computes every token from those before it and counts positions from
    the first, so padding behind a text can change nothing of it, and needs no mask; `load_frozen` checks
    that this holds.
    """

    name: str
    network: Any
    tokenizer: Any
    device: str
    dtype: str
    bos: int
    words: LabelWords
    longest: int
    """Most tokens that the model has positions for, prompt and text together."""
    notes: tuple[str, ...] = ()
    head: Head = field(default_factory=Head)
    shares_prompt: bool = False
    """Compute the prompt once a batch, not once a text: its states depend on nothing behind it. Gradients add up."""

    @property
    def parameters(self) -> int:
        """How many weights the model has."""
        return sum(weights.numel() for weights in self.network.parameters())

    @property
    def architecture(self) -> str:
        """Class of the model in transformers."""
        return type(self.network).__name__

    def fingerprint(self) -> str:
        """SHA-256 of the names and shapes of all weights, and of the first 4,096 values of each."""
        import torch

        digest = hashlib.sha256()
        for name, weights in self.network.named_parameters():
            digest.update(f"{name} {tuple(weights.shape)}\n".encode())
            digest.update(weights.detach().reshape(-1)[:_SAMPLE].to("cpu", torch.float32).numpy().tobytes())
        return digest.hexdigest()

    def embed(self, ids: Tensor) -> Tensor:
        """Input embeddings of tokens."""
        found: Tensor = self.network.get_input_embeddings()(ids)
        return found

    def encode(self, texts: Sequence[str], vectors: int) -> list[list[int]]:
        """Tokens of texts, no special ones, cut to fit behind so many vectors; InputError where there are none."""
        if not texts:
            return []
        tokens = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        empty = next((index for index, ids in enumerate(tokens) if not ids), None)
        if empty is not None:
            raise InputError(f"text {empty + 1} of {len(texts)}, {texts[empty]!r}, gives no token; leave it out")
        return [list(ids[: self.longest - vectors]) for ids in tokens]

    def last_logits(self, vectors: Tensor, texts: Sequence[Sequence[int]]) -> Tensor:
        """Logits after vectors (vectors, width) and tokens of each text: (texts, vocabulary) in single precision."""
        import torch

        longest = max(map(len, texts))
        rows = [[*ids, *[self.bos] * (longest - len(ids))] for ids in texts]
        embedded = self.embed(torch.tensor(rows, device=self.device))
        vectors = vectors.to(embedded.dtype)
        last = torch.tensor([len(ids) - 1 for ids in texts], device=self.device)
        past = None
        if self.shares_prompt:
            with self.head.at(torch.zeros(1, dtype=torch.long, device=self.device)):
                past = self.network(inputs_embeds=vectors[None], use_cache=True).past_key_values
            past.batch_repeat_interleave(len(texts))
        else:
            embedded = torch.cat([vectors.expand(len(texts), -1, -1), embedded], dim=1)
            last = last + len(vectors)
        with self.head.at(last):
            logits: Tensor = self.network(
                inputs_embeds=embedded, past_key_values=past, use_cache=past is not None
            ).logits
        return logits[:, 0].float()


EMBEDDED = "local/smollm2"
"""Name of the model whose weights this package can fetch (`biaslens fetch`)."""
_UNLIMITED = 1_000_000
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.05}
"""How far logits of one text may lie apart, alone and in a padded batch, for the largest logit of 1 or of 10."""


def load_frozen(model: str, *, device: str = "auto", dtype: str | None = None, words: Sequence[str] = NAMES) -> Frozen:
    """Load a causal language model, frozen: a folder, a name on the Hugging Face hub, a GGUF file, or "local/smollm2".

    The device is one of torch; "auto" is a GPU where there is one. Weights are "float32", "bfloat16" or "float16"; by
    default bfloat16 on a GPU and float32 on a CPU, which takes no other. InputError when torch or transformers is
    missing, nothing can be loaded, or the model is no causal language model; see also `label_words`.
    """
    require("torch", "transformers")
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device {device}: {str(error).splitlines()[0]}") from None
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
    if (output := network.get_output_embeddings()) is None:
        raise InputError(f"{name}: {frozen.architecture} has no output head to read the next token from")
    output.register_forward_pre_hook(frozen.head)
    return _checked(frozen)


def _load(model: str, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401 - torch's dtype
    import transformers

    if model == EMBEDDED:
        path = load_settings().local_model or embedded_weights()
    else:
        path = Path(model.removeprefix("local/")).expanduser()
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


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and remarks of a library whose work here takes seconds."""
    from transformers.utils import logging as shown

    level = shown.get_verbosity()
    shown.set_verbosity(logging.ERROR)
    shown.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        shown.set_verbosity(level)
        shown.enable_progress_bar()


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
    """Check that a text has the same logits alone and beside a longer one: no model does that looks ahead."""
    import torch

    def same(found: Frozen) -> bool:
        apart = found.last_logits(vectors, [short, long])[0] - expected
        scale = max(1.0, float(expected.abs().max()))
        return float(apart.abs().max()) <= _TOLERANCE[frozen.dtype] * scale / 10

    short, long = frozen.encode(["It is.", "It is a text, and another one is here."], 2)
    ids = torch.tensor([[frozen.bos, frozen.bos, *short]], device=frozen.device)
    with torch.no_grad():
        expected = frozen.network(input_ids=ids).logits[0, -1].float()
        vectors = frozen.embed(ids[0, :2])
        if not same(frozen):
            raise InputError(
                f"{frozen.name}: {frozen.architecture} gives a text other logits beside a longer one than alone; the "
                "probe needs a causal language model whose positions count from the first token"
            )
        shared = replace(frozen, shares_prompt=True)
        try:
            # On a GPU a small model waits for kernels to start, and a second pass over the prompt starts as many again.
            return shared if frozen.device == "cpu" and same(shared) else frozen
        except (AttributeError, TypeError, ValueError, NotImplementedError, RuntimeError):
            return frozen
