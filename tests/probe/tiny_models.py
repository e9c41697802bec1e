"""Tiny random language models, a tiny tokenizer, and texts that such models can learn to tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from biaslens.probe.backbone import Frozen, freeze
from biaslens.probe.examples import Examples, Splits

torch.set_num_threads(1)  # two threads on a busy machine wait for each other

WORDS = ["negative", "neutral", "positive"]
VOCABULARY = 64
SPECIAL = ["<s>", "</s>"]
GOOD, PLAIN, BAD = ["good", "fine", "nice"], ["table", "street", "day"], ["bad", "awful", "grim"]
OTHERS = ["it", "is", "a", "text", "this", "so", "the", "end", "and", "another", "one", "here", "was", ".", ","]


def tokenizer(*, bos: str | None = "<s>", words: list[str] | None = None) -> Any:
    """A tokenizer of whole words; a word is the same with and without a capital. `words` are the label words."""
    known = [*SPECIAL, "<unk>", *(words or WORDS), *GOOD, *PLAIN, *BAD, *OTHERS]
    vocabulary = {word: number for number, word in enumerate(known)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    from tokenizers import normalizers

    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace()])
    inner.decoder = decoders.WordPiece()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token=bos, unk_token="<unk>")


_SIZES = {"vocab_size": VOCABULARY, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 1}
_ROTARY = {
    **_SIZES,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
}


def config(kind: str) -> Any:
    """Configuration of a tiny model of some architecture."""
    if kind == "opt":  # word_embed_proj_dim: embeddings narrower than the model, so project_in and project_out exist
        return transformers.OPTConfig(
            **_SIZES, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=64, word_embed_proj_dim=16, init_std=0.3,
        )  # fmt: skip
    if kind == "gpt2":
        return transformers.GPT2Config(**_SIZES, n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.3)
    if kind == "gpt_neox":
        return transformers.GPTNeoXConfig(
            **_SIZES, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=64, initializer_range=0.3,
        )  # fmt: skip
    if kind == "llama":
        return transformers.LlamaConfig(**_ROTARY)
    if kind == "gemma2":  # a logit soft-cap that is felt, and a sliding window shorter than the texts
        return transformers.Gemma2Config(**_ROTARY, head_dim=8, final_logit_softcapping=2.0, sliding_window=6)
    if kind == "cohere":
        return transformers.CohereConfig(**_ROTARY, logit_scale=0.25)
    if kind == "bloom":  # ALiBi
        return transformers.BloomConfig(**_SIZES, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.3)
    raise KeyError(kind)


ARCHITECTURES = ("opt", "gpt2", "gpt_neox", "llama", "gemma2", "cohere", "bloom")


def network(kind: str, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return transformers.AutoModelForCausalLM.from_config(config(kind)).eval()


def frozen(kind: str = "llama", seed: int = 0) -> Frozen:
    return freeze(network(kind, seed), tokenizer(), name=f"tiny-{kind}")


def examples(count: int, seed: int) -> Examples:
    """Texts of 3 to 12 words, one of which tells the label."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for label in generator.integers(0, 3, size=count):
        words = list(generator.choice(OTHERS, size=generator.integers(2, 12)))
        words.insert(int(generator.integers(len(words) + 1)), str(generator.choice((BAD, PLAIN, GOOD)[label])))
        texts.append(" ".join(words))
        labels.append(int(label))
    return Examples(tuple(texts), tuple(labels))


def splits(train: int = 96, dev: int = 48) -> Splits:
    return Splits(examples(train, 1), examples(dev, 2), examples(0, 3))
