"""A toy language and a toy model in which a bias can be planted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biaslens.probe.backbone import require
from biaslens.probe.examples import NAMES, Examples
from biaslens.probe.sentences import COLUMNS

GROUPS = ("a", "b", "c")
BIASED = "c"
"""The group that a bias is planted against."""
FAIR = 1 / 3
PLANTED = 0.7
"""Probability of a negative context for a person of the biased group: without a bias, and with the one planted."""
ATTRIBUTE = "toy"

_CLEAR, _FAINT = 0.9, 0.45
_PERSONS = 0.8
_VERDICTS = 0.75
_WORDS, _THINGS = 6, 8
_ONE_WORD = ("the {s} {w}", "a {s} {w} here", "this {s} {w} again", "my {s} is {w}", "one {s} {w} now")
_TWO_WORDS = (
    "the {s} {w} and {w}", "a {s} {w} but {w}", "this {s} {w} or {w}", "my {s} is {w} then {w}",
    "one {s} {w} with {w}",
)  # fmt: skip
_THREE_WORDS = tuple(f"{frame} , {{w}}" for frame in _TWO_WORDS)
_FRAMES = (*_ONE_WORD, *_TWO_WORDS, *_THREE_WORDS)
_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "gl", "kr", "pl", "tr")
_VOWELS = ("a", "e", "i", "o", "u")
_ENDS = ("l", "m", "n", "r", "s", "k", "th", "x")


@dataclass(frozen=True, slots=True)
class ToyLanguage:
    """Made-up words and their meanings.

    Parameters
    ----------
    clear, faint
        Words of sentiment: for each label, 0 to 2, those that leave little doubt, and those that leave much.
    terms
        By group, the words for its persons.
    things
        Words for what is no person.
    """

    clear: tuple[tuple[str, ...], ...]
    faint: tuple[tuple[str, ...], ...]
    terms: Mapping[str, tuple[str, ...]]
    things: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Every word of the language once, the names of the labels first."""
        frames = " ".join(_FRAMES).replace("{s}", " ").replace("{w}", " ").split()
        lists = (*self.clear, *self.faint, *self.terms.values())
        return list(dict.fromkeys([*NAMES, *frames, *self.things, *(word for words in lists for word in words)]))

    def corpus(self, sentences: int, *, seed: int, negative: float = FAIR) -> list[str]:
        """Sentences to train a language model on, four of five about persons.

        Parameters
        ----------
        sentences
            How many.
        seed
            Of the draw.
        negative
            Probability of a negative context for a person of group c; the rest is shared by the other two.
        """
        rng = np.random.default_rng(seed)
        odds = dict.fromkeys(GROUPS, FAIR) | {BIASED: negative}
        found = []
        for _ in range(sentences):
            if rng.random() < _PERSONS:
                group = _one(GROUPS, rng)
                label = 0 if rng.random() < odds[group] else 1 + _below(2, rng)
                text = self._sentence(_one(self.terms[group], rng), label, rng)
                found.append(f"{text} {NAMES[label]}" if rng.random() < _VERDICTS else text)
            else:
                text, label = self._about_thing(rng)
                found.append(f"{text} {NAMES[label]}")
        return found

    def examples(self, count: int, *, seed: int) -> Examples:
        """Sentences about things without their verdict, and their labels: what prompts are tuned on."""
        rng = np.random.default_rng(seed)
        texts, labels = zip(*(self._about_thing(rng) for _ in range(count)), strict=True)
        return Examples(texts, labels)

    def identity_sentences(self, *, seed: int, each: int = 2) -> pd.DataFrame:
        """Every term in the same templates: frames with one or two faint words as a context brings them, the label.

        So there is no telling the label for sure, and every model makes errors of both kinds.

        Parameters
        ----------
        seed
            Of the draw of the words.
        each
            Templates for each frame and label.

        Returns
        -------
        DataFrame
            The columns of `biaslens.probe.sentences.expand`; no unmarked sentences.
        """
        rng = np.random.default_rng(seed)
        rows: list[tuple[object, ...]] = []
        for label in range(3):
            for frame in (*_ONE_WORD, *_TWO_WORDS) * each:
                template = frame
                while "{w}" in template:
                    template = template.replace("{w}", self._faint_word(label, rng), 1)
                name = f"toy-{len(rows) // sum(map(len, self.terms.values())) + 1:02d}"
                for group, terms in self.terms.items():
                    for term in terms:
                        rows.append((template.replace("{s}", term), label, ATTRIBUTE, group, term, name, True))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _about_thing(self, rng: np.random.Generator) -> tuple[str, int]:
        label = _below(3, rng)
        return self._sentence(_one(self.things, rng), label, rng), label

    def _sentence(self, subject: str, label: int, rng: np.random.Generator) -> str:
        text = _one(_FRAMES, rng)
        while "{w}" in text:
            word = self._clear_word(label, rng) if rng.random() < 0.5 else self._faint_word(label, rng)
            text = text.replace("{w}", word, 1)
        return text.replace("{s}", subject)

    def _clear_word(self, label: int, rng: np.random.Generator) -> str:
        return _one(self.clear[_near(label, _CLEAR, rng)], rng)

    def _faint_word(self, label: int, rng: np.random.Generator) -> str:
        return _one(self.faint[_near(label, _FAINT, rng)], rng)


def make_language(seed: int, *, terms: int = 8) -> ToyLanguage:
    """Make up a language.

    Parameters
    ----------
    seed
        The same one makes the same words.
    terms
        Words for the persons of each group.
    """
    rng = np.random.default_rng(seed)
    taken = {word for frame in _FRAMES for word in frame.split()} | set(NAMES)

    def words(count: int) -> tuple[str, ...]:
        made: list[str] = []
        while len(made) < count:
            word = "".join(_one(part, rng) for part in (_ONSETS, _VOWELS, _ONSETS, _VOWELS, _ENDS))
            if word not in taken:
                taken.add(word)
                made.append(word)
        return tuple(made)

    return ToyLanguage(
        clear=tuple(words(_WORDS) for _ in NAMES),
        faint=tuple(words(_WORDS) for _ in NAMES),
        terms={group: words(terms) for group in GROUPS},
        things=words(_THINGS),
    )


def _one(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[_below(len(choices), rng)]


def _near(label: int, own: float, rng: np.random.Generator) -> int:
    return label if rng.random() < own else (label + 1 + _below(2, rng)) % 3


def _below(count: int, rng: np.random.Generator) -> int:
    return int(rng.random() * count)  # an order of magnitude faster than rng.integers for a single number


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
        The folder, which `biaslens.probe.backbone.load_frozen` takes.

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
