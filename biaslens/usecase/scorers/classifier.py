"""Text classifiers of Hugging Face, by name or from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.usecase.scorers.base import BLANK, Kind, is_blank

BATCH = 32
LONGEST = 512
"""Most tokens of a text that are read, or fewer where the model takes fewer; the rest is cut off."""

_GUESSES: dict[Kind, tuple[str, ...]] = {
    "toxicity": ("toxic", "toxicity", "hate", "offensive", "label_1"),
    "stereotype": ("stereotype", "stereotypical", "label_1"),
    "sentiment": ("positive", "pos"),
}


class ClassifierScorer:
    """The probability that a text-classification model gives to one label, or to several that belong together.

    Where the labels exclude each other (a softmax), the score is the sum of the chosen labels' probabilities; where a
    model says of itself that a text can have several (``problem_type = "multi_label_classification"``), it is the
    highest of the chosen labels' sigmoids. Blank texts get `BLANK`.

    Parameters
    ----------
    kind
        What the label means.
    model
        Name on the hub, or folder.
    label
        The label, in any case; "" to guess: "toxic", "toxicity", "LABEL_1", all that begin with "stereotype", and
        for sentiment "positive".

    Raises
    ------
    InputError
        When transformers or torch is missing, the model cannot be loaded, or the label is not one of its labels.
    """

    languages: tuple[str, ...] | None = None
    slow = True

    def __init__(self, kind: Kind, model: str, label: str = "") -> None:
        require("transformers", "torch")
        self.kind = kind
        self._tokenizer, self._model = _load(model)
        config = self._model.config
        labels = {int(number): str(name) for number, name in config.id2label.items()}
        self._chosen = _choose(kind, model, labels, label)
        self._several = config.problem_type == "multi_label_classification"
        self._most = min(LONGEST, *_limits(self._tokenizer, config))
        names = " + ".join(labels[number] for number in self._chosen)
        self.name = f"{model} ({names}; transformers {version('transformers')})"
        revision = getattr(config, "_commit_hash", None) or _folder_state(model)
        self.identity = f"{kind} hf {model} {revision} {names} {self._most}"
        self.note = f"Of a text, the first {self._most} tokens are read. Its quality is its maker's claim, not ours."

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        scores = np.full(len(texts), BLANK[self.kind])
        filled = [index for index, text in enumerate(texts) if not is_blank(text)]
        filled.sort(key=lambda index: len(texts[index]))  # texts of one length waste no padding
        for start in range(0, len(filled), BATCH):
            part = filled[start : start + BATCH]
            scores[part] = self._probability([texts[index] for index in part])
        return scores

    def _probability(self, texts: list[str]) -> NDArray[np.float64]:
        import torch

        inputs = self._tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=self._most)
        with torch.no_grad():
            logits = self._model(**inputs).logits.double()
        chosen: NDArray[np.float64]
        if self._several:
            chosen = torch.sigmoid(logits)[:, self._chosen].amax(dim=1).numpy()
        else:
            chosen = torch.softmax(logits, dim=1)[:, self._chosen].sum(dim=1).numpy()
        return np.minimum(chosen, 1.0)


def require(*packages: str) -> None:
    """Refuse where one of the packages is not installed.

    Raises
    ------
    InputError
        That says what to install.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        extra = "'.[classifiers]'" if {"torch", "transformers"} & set(missing) else ""
        own = "detoxify" if "detoxify" in missing else ""
        what, verb = " ".join(filter(None, [extra, own])), "is" if len(missing) == 1 else "are"
        raise InputError(f"this scorer needs {' and '.join(missing)}, which {verb} not installed; pip install {what}")


def _load(model: str) -> tuple[Any, Any]:
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(model)
    except (OSError, ValueError, KeyError, ImportError) as error:
        line = " ".join(str(error).split())[:200]
        raise InputError(
            f"hf:{model}: no text classifier can be loaded from there ({line}); give a folder, or a name on the hub "
            "that this machine has or can reach"
        ) from error
    network.eval()
    return tokenizer, network


def _limits(tokenizer: Any, config: Any) -> list[int]:  # noqa: ANN401
    """What tokenizer and model say of how much they take; positions 0 and 1 of RoBERTa are not for tokens."""
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    offset = 2 if "roberta" in str(getattr(config, "model_type", "")) else 0
    return [int(tokenizer.model_max_length), int(positions) - offset]


def _choose(kind: Kind, model: str, labels: dict[int, str], label: str) -> list[int]:
    known = f"its labels are {', '.join(labels.values())}"
    if label:
        chosen = [number for number, name in labels.items() if name.lower() == label.lower()]
        if not chosen:
            raise InputError(f"hf:{model} has no label {label!r}; {known}")
        return chosen
    lower = {name.lower(): number for number, name in labels.items()}
    if kind == "stereotype":
        chosen = [number for name, number in lower.items() if name.startswith("stereotype")]
        if chosen:
            return chosen
    for guess in _GUESSES[kind]:
        if guess in lower and (guess != "label_1" or len(lower) == 2):
            return [lower[guess]]
    raise InputError(f"hf:{model}: which label is {kind} is not clear; say hf:{model}:LABEL; {known}")


def _folder_state(model: str) -> str:
    """When and how large the weights in a folder are, so that scores of other weights are not taken for theirs."""
    path = Path(model)
    found = sorted(path.glob("*.safetensors")) + sorted(path.glob("*.bin")) if path.is_dir() else []
    return " ".join(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in found)
