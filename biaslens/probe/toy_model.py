"""A small causal language model that learns a toy language on a CPU in less than a minute."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biaslens.probe.extra import require
from biaslens.probe.toy import FAIR, ToyLanguage

if TYPE_CHECKING:
    from torch import Tensor

BOS, EOS, PAD, UNKNOWN = _SPECIAL = ("<s>", "</s>", "<pad>", "<unk>")

_ROW = 64
"""Tokens of a training row; sentences lie end to end in it, so that the model knows them at every position."""
_SENTENCE = 6
"""Fewer tokens than an average sentence has with its first one, so that there is always enough text."""
_RATE = 5e-3
_INIT_STD = 0.08
"""Of the weights before training: with the library's 0.02 so narrow a model stays where it begins."""


@dataclass(frozen=True, slots=True)
class ToySize:
    """Size of the model and of its training: `layers` of the width `width`, `steps` of `batch` rows of 64 tokens."""

    layers: int
    steps: int
    batch: int
    width: int = 128


def train_toy(
    folder: Path,
    language: ToyLanguage,
    size: ToySize,
    *,
    seed: int,
    negative: float = FAIR,
    stepped: Callable[[int, float], None] | None = None,
) -> Path:
    """Train a model from scratch and save it with its tokenizer, as any model of Hugging Face is saved.

    Parameters
    ----------
    folder
        Where to.
    language
        What it learns.
    size
        How large it is and how much it reads.
    seed
        Of its first weights and of the corpus.
    negative
        See `ToyLanguage.corpus`.
    stepped
        Told the number of steps made, and the loss.

    Returns
    -------
    Path
        The folder, which `biaslens.probe.frozen.load_frozen` takes.

    Raises
    ------
    InputError
        When torch or transformers is missing.
    """
    require("torch", "transformers")
    import torch

    tokenizer = make_tokenizer(language)
    rows = _rows(language, tokenizer, size, seed=seed, negative=negative)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        network = _network(len(tokenizer), size)
    _train(network, rows, stepped)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_tokenizer(language: ToyLanguage) -> Any:  # noqa: ANN401 - transformers' tokenizers share no public type
    """A tokenizer of whole words, with a beginning-of-sequence token."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*_SPECIAL, *language.words])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=inner, bos_token=BOS, eos_token=EOS, pad_token=PAD, unk_token=UNKNOWN
    )


def _rows(
    language: ToyLanguage,
    tokenizer: Any,  # noqa: ANN401 - see make_tokenizer
    size: ToySize,
    *,
    seed: int,
    negative: float,
) -> Tensor:
    """Token numbers to read, shape (steps, batch, 64)."""
    import torch

    needed = size.steps * size.batch * _ROW
    texts = language.corpus(needed // _SENTENCE + 1, seed=seed, negative=negative)
    encoded: Sequence[Sequence[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    ids = list(itertools.chain.from_iterable((tokenizer.bos_token_id, *sentence) for sentence in encoded))
    assert len(ids) >= needed, "sentences are longer than _SENTENCE on average"
    return torch.from_numpy(np.array(ids[:needed]).reshape(size.steps, size.batch, _ROW))


def _network(vocabulary: int, size: ToySize) -> Any:  # noqa: ANN401 - see make_tokenizer
    from transformers import OPTConfig, OPTForCausalLM

    begin, end, pad, _ = range(len(_SPECIAL))
    return OPTForCausalLM(
        OPTConfig(
            vocab_size=vocabulary,
            hidden_size=size.width,
            word_embed_proj_dim=size.width,
            ffn_dim=4 * size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=4,
            max_position_embeddings=2 * _ROW,
            init_std=_INIT_STD,
            dropout=0.0,
            bos_token_id=begin,
            eos_token_id=end,
            pad_token_id=pad,
        )
    )


def _train(network: Any, rows: Tensor, stepped: Callable[[int, float], None] | None) -> None:  # noqa: ANN401 - above
    import torch

    steps = len(rows)
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps, pct_start=0.1)
    network.train()
    for step, batch in enumerate(rows, start=1):
        loss = network(input_ids=batch, labels=batch).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if stepped is not None:
            stepped(step, float(loss.detach()))
    network.eval()
