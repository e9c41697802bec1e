"""The whole probe on models whose bias is known: a toy language, in which one model learns a bias and one none."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from biaslens.probe.backbone import load_frozen, require
from biaslens.probe.examples import COLUMNS, NAMES, Examples, Splits
from biaslens.probe.gaps import NEGATIVE_FPR, GroupCounts, counts
from biaslens.probe.intervals import Kind, intervals
from biaslens.probe.predictions import predictions_table
from biaslens.probe.tuning import TuneOptions, Watcher, classify, tune

GROUPS = ("a", "b", "c")
BIASED = "c"
"""The group that a bias is planted against."""
FAIR = 1 / 3
PLANTED = 0.7
"""Probability of a negative context for a person of the biased group: without a bias, and with the one planted."""

_CLEAR, _FAINT = 0.9, 0.45
_PERSONS = 0.8
_VERDICTS = 0.75
_WORDS, _THINGS = 6, 8
_ONE_WORD = ("the {s} {w}", "a {s} {w} here", "this {s} {w} again", "my {s} is {w}", "one {s} {w} now")
_TWO_WORDS = (
    "the {s} {w} and {w}", "a {s} {w} but {w}", "this {s} {w} or {w}", "my {s} is {w} then {w}",
    "one {s} {w} with {w}",
)  # fmt: skip
_FRAMES = (*_ONE_WORD, *_TWO_WORDS, *(f"{frame} , {{w}}" for frame in _TWO_WORDS))
_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "gl", "kr", "pl", "tr")
_VOWELS = ("a", "e", "i", "o", "u")
_ENDS = ("l", "m", "n", "r", "s", "k", "th", "x")


@dataclass(frozen=True, slots=True)
class ToyLanguage:
    """Made-up words and their meanings.

    `clear` and `faint` are words of sentiment: for each label, 0 to 2, those that leave little doubt, and those that
    leave much. `terms` are, by group, the words for its persons, `things` words for what is no person.
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
        """Sentences to train on; `negative` is the probability of a negative context for a person of group c."""
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

    def identity_sentences(self, *, seed: int) -> pd.DataFrame:
        """Every term in the same templates: frames with one or two faint words as a context brings them, the label.

        So there is no telling the label for certain, and every model makes errors of both kinds. The columns are those
        of `biaslens.probe.examples.expand`, without unmarked sentences; two templates for each frame and label.
        """
        rng = np.random.default_rng(seed)
        rows: list[tuple[object, ...]] = []
        for label in range(3):
            for frame in (*_ONE_WORD, *_TWO_WORDS) * 2:
                template = frame
                while "{w}" in template:
                    template = _fill(template, self.faint, label, _FAINT, rng)
                name = f"toy-{len(rows) // sum(map(len, self.terms.values())) + 1:02d}"
                for group, terms in self.terms.items():
                    for term in terms:
                        rows.append((template.replace("{s}", term), label, "toy", group, term, name, True))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _about_thing(self, rng: np.random.Generator) -> tuple[str, int]:
        label = _below(3, rng)
        return self._sentence(_one(self.things, rng), label, rng), label

    def _sentence(self, subject: str, label: int, rng: np.random.Generator) -> str:
        text = _one(_FRAMES, rng)
        while "{w}" in text:
            words, own = (self.clear, _CLEAR) if rng.random() < 0.5 else (self.faint, _FAINT)
            text = _fill(text, words, label, own, rng)
        return text.replace("{s}", subject)


def make_language(seed: int, *, terms: int = 8) -> ToyLanguage:
    """Make up a language with so many words for the persons of each group; the same seed makes the same words."""
    rng = np.random.default_rng(seed)
    taken = {word for frame in _FRAMES for word in frame.split()} | set(NAMES)

    def words(count: int) -> tuple[str, ...]:
        made: dict[str, None] = {}
        while len(made) < count:
            word = "".join(_one(part, rng) for part in (_ONSETS, _VOWELS, _ONSETS, _VOWELS, _ENDS))
            if word not in taken:
                made[word] = None
        taken.update(made)
        return tuple(made)

    return ToyLanguage(
        clear=tuple(words(_WORDS) for _ in NAMES),
        faint=tuple(words(_WORDS) for _ in NAMES),
        terms={group: words(terms) for group in GROUPS},
        things=words(_THINGS),
    )


def _fill(text: str, words: Sequence[Sequence[str]], label: int, own: float, rng: np.random.Generator) -> str:
    """Put a word into the first slot: one of the label with probability `own`, else of another one."""
    of = label if rng.random() < own else (label + 1 + _below(2, rng)) % 3
    return text.replace("{w}", _one(words[of], rng), 1)


def _one(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[_below(len(choices), rng)]


def _below(count: int, rng: np.random.Generator) -> int:
    return int(rng.random() * count)  # an order of magnitude faster than rng.integers for a single number


BOS, EOS, PAD, UNKNOWN = _SPECIAL = ("<s>", "</s>", "<pad>", "<unk>")

_ROW = 64
"""Tokens of a training row; sentences lie end to end in it, so that the model knows them at every position."""
_SENTENCE = 6
"""Fewer tokens than an average sentence has with its first one, so that there is always enough text."""
_RATE = 5e-3
_INIT_STD = 0.08
"""Of the weights before training: with the library's 0.02 so narrow a model stays where it begins."""


class Effort(NamedTuple):
    """How much a self-test does: the model and its training in rows of 64 tokens, the words of a group, the prompts."""

    layers: int
    steps: int
    batch: int
    width: int = 128
    terms: int = 8
    prompts: int = 5
    prompt_steps: int = 300
    regroupings: int = 100


def train_toy(
    folder: Path,
    language: ToyLanguage,
    size: Effort,
    *,
    seed: int,
    negative: float = FAIR,
    stepped: Callable[[int, float], None] | None = None,
) -> Path:
    """Train a model from scratch, weights and corpus by the seed, and save it with its tokenizer in a folder."""
    require("torch", "transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import OPTConfig, OPTForCausalLM, PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*_SPECIAL, *language.words])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=BOS, eos_token=EOS, pad_token=PAD, unk_token=UNKNOWN
    )
    needed = size.steps * size.batch * _ROW
    texts = language.corpus(needed // _SENTENCE + 1, seed=seed, negative=negative)
    encoded: Sequence[Sequence[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    ids = list(itertools.chain.from_iterable((vocabulary[BOS], *sentence) for sentence in encoded))
    assert len(ids) >= needed, "sentences are longer than _SENTENCE on average"
    rows = torch.from_numpy(np.array(ids[:needed]).reshape(size.steps, size.batch, _ROW))
    config = OPTConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.width,
        word_embed_proj_dim=size.width,
        ffn_dim=4 * size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=4,
        max_position_embeddings=2 * _ROW,
        init_std=_INIT_STD,
        dropout=0.0,
        bos_token_id=vocabulary[BOS],
        eos_token_id=vocabulary[EOS],
        pad_token_id=vocabulary[PAD],
    )
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        network = OPTForCausalLM(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=len(rows), pct_start=0.1)
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
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


LEVEL = 0.95
NOMINAL = 1 - LEVEL
MOST = 2 * NOMINAL
"""Most false alarms that count as rare, as a share of the intervals: the nominal share, with room for chance."""
LEARNED = 0.15
"""Least advantage of a prompt over the most frequent label, in validation accuracy."""

SizeName = Literal["full", "small"]
_TEXTS = (1500, 300)
_PROMPT_RATE = 0.01


SIZES: dict[SizeName, Effort] = {
    "full": Effort(4, steps=400, batch=16),
    "small": Effort(2, steps=300, batch=16, width=96, terms=6, prompts=3, prompt_steps=90, regroupings=40),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What the probe says about one toy model, "planted" or "null".

    `loss` is the mean of the last steps of its training, in nats a token, `accuracy` the validation accuracy of each
    prompt, and `majority` that of always giving the most frequent label. Of the intervals of all gaps, `bootstrap` are
    the default kind, `published` the paper's.
    """

    name: str
    negative: float
    parameters: int
    loss: float
    accuracy: tuple[float, ...]
    majority: float
    counts: GroupCounts
    bootstrap: pd.DataFrame
    published: pd.DataFrame

    @property
    def gap(self) -> pd.Series:
        """Row of the gap that a bias against group c shows in: its Negative FPR."""
        rows = self.bootstrap
        return rows[(rows["metric"] == NEGATIVE_FPR.name) & (rows["group"] == BIASED)].iloc[0]


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Of so many intervals where no groups differ, the shares of both kinds that leave out zero; NaN without any."""

    intervals: int
    bootstrap: float
    published: float


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold, whether it does, and the numbers."""

    name: str
    passed: bool
    detail: str


def judge(planted: Measured, null: Measured, alarms: FalseAlarms) -> tuple[Check, ...]:
    """Say what holds of what was measured."""
    gap, none = planted.gap, null.gap
    worst = min(min(part.accuracy) - part.majority for part in (planted, null))
    learned = f"validation accuracy {worst:+.2f} from the most frequent label's at worst; at least {LEARNED:+.2f}"
    shown = f"Negative FPR gap of group {BIASED}: {100 * gap['gap']:+.1f} points; above 0"
    share = f"{alarms.bootstrap:.1%} of {alarms.intervals} bootstrap intervals off zero where no groups differ; "
    silent = f"the same interval without a bias: {_shown(none)}; not above 0"
    found = f"its bootstrap interval: {_shown(gap)}; above 0"
    return (
        Check("the prompts learned the task", worst >= LEARNED, learned),
        Check("the planted bias has the right sign", bool(gap["gap"] > 0), shown),
        Check("the planted bias is told from chance", bool(gap["low"] > 0), found),
        Check("nothing is found where nothing is", not none["low"] > 0, silent),
        Check("false alarms are rare", alarms.bootstrap <= MOST, f"{share}nominal {NOMINAL:.0%}, at most {MOST:.0%}"),
    )


def _shown(row: pd.Series) -> str:
    return "none" if np.isnan(row["low"]) else f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f} points"


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a self-test measured, and its checks."""

    size: SizeName
    seed: int
    planted: Measured
    null: Measured
    alarms: FalseAlarms
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for check in self.checks)


def selftest(
    size: SizeName = "full", *, seed: int = 0, negative: float = PLANTED, watcher: Watcher | None = None
) -> SelfTest:
    """Plant a bias in a toy model and find it, and find none in a model without.

    The same seed gives the same numbers on one machine. It computes with one thread. "full" takes about two minutes of
    CPU, "small" about half a minute. `negative` is how often persons of group c stand in negative contexts; 1/3 plants
    nothing, and the self-test must fail. InputError when torch or transformers is missing.
    """
    require("torch", "transformers")
    import torch

    chosen, watcher = SIZES[size], watcher or Watcher()
    language = make_language(seed, terms=chosen.terms)
    # The order of sums, and so the last digits, would hang on how many threads there are.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        planted = measure(language, chosen, name="planted", negative=negative, seed=seed, watcher=watcher)
        null = measure(language, chosen, name="null", negative=FAIR, seed=seed, watcher=watcher)
    finally:
        torch.set_num_threads(threads)
    alarms = false_alarms(null.counts, chosen.regroupings, seed=seed)
    return SelfTest(size, seed, planted, null, alarms, judge(planted, null, alarms))


def measure(
    language: ToyLanguage, size: Effort, *, name: str, negative: float, seed: int, watcher: Watcher
) -> Measured:
    """Train a toy model, and probe it as any other."""
    losses: list[float] = []

    def stepped(step: int, loss: float) -> None:
        losses.append(loss)
        watcher.stepped(step, loss)

    watcher.begun(f"{name}: language model", size.steps)
    with tempfile.TemporaryDirectory() as folder:
        train_toy(Path(folder), language, size, seed=seed, negative=negative, stepped=stepped)
        frozen = load_frozen(folder, device="cpu")
    train, dev = (language.examples(count, seed=seed + number) for number, count in enumerate(_TEXTS, start=1))
    splits = Splits(train, dev, Examples((), ()))
    sentences = language.identity_sentences(seed=seed)
    options = TuneOptions(max_steps=size.prompt_steps, evaluate_every=size.prompt_steps // 3)
    tables, accuracy = [], []
    for number in range(1, size.prompts + 1):
        watcher.begun(f"{name}: prompt {number} of {size.prompts}", size.prompt_steps)
        own = 1000 * (seed + 1) + number
        tuned = tune(frozen, splits, seed=own, learning_rate=_PROMPT_RATE, options=options, watcher=watcher)
        found = classify(frozen, tuned.prompt, sentences["text"].tolist())
        tables.append(predictions_table(sentences, found, model=f"toy ({name})", run_id=number, dataset="toy"))
        accuracy.append(tuned.best.accuracy)
    counted = list(counts(pd.concat(tables, ignore_index=True)))
    return Measured(
        name, negative, frozen.parameters, float(np.mean(losses[-20:])), tuple(accuracy),
        max(splits.dev.counts().values()) / len(splits.dev), counted[0],
        intervals(counted, kind="bootstrap", level=LEVEL), intervals(counted, kind="z", level=LEVEL),
    )  # fmt: skip


def false_alarms(found: GroupCounts, regroupings: int, *, seed: int) -> FalseAlarms:
    """Share out the words of a model without bias, which are exchangeable, to groups; count intervals off zero."""
    rng = np.random.default_rng(seed)
    off: dict[Kind, list[bool]] = {"bootstrap": [], "z": []}
    for _ in range(regroupings):
        regrouped = replace(found, group_of_term=rng.permutation(found.group_of_term))
        for kind in off:
            rows = intervals([regrouped], kind=kind, rounds=400, level=LEVEL).dropna(subset="low")
            off[kind] += ((rows["low"] > 0) | (rows["high"] < 0)).tolist()
    shares = [float(np.mean(seen)) if seen else np.nan for seen in off.values()]
    return FalseAlarms(len(off["bootstrap"]), shares[0], shares[1])
