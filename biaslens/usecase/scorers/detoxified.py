"""Detoxify's models, through its own package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.usecase.scorers.base import BLANK, Kind, is_blank
from biaslens.usecase.scorers.classifier import require

VARIANTS = ("original", "unbiased", "multilingual", "original-small", "unbiased-small")

_BATCH = 32


class DetoxifyScorer:
    """Detoxify's probability of toxicity.

    "unbiased" was trained to lean less on words for identities than "original"; "multilingual" reads seven languages.
    The weights are downloaded when first used. Source: Hanu and Unitary team, https://github.com/unitaryai/detoxify.

    Parameters
    ----------
    variant
        One of `VARIANTS`.
    checkpoint, folder
        A checkpoint file and a folder of tokenizer and configuration, for machines without a network.

    Raises
    ------
    InputError
        When the package is not installed, the variant unknown or its weights cannot be had.
    """

    kind: Kind = "toxicity"
    slow = True
    note = "Reads the first 512 tokens of a text."

    def __init__(
        self, variant: str = "unbiased", *, checkpoint: Path | None = None, folder: Path | None = None
    ) -> None:
        if variant not in VARIANTS:
            raise InputError(f"detoxify has no variant {variant!r}; there are {', '.join(VARIANTS)}")
        require("detoxify", "transformers", "torch")
        import detoxify

        try:
            self._model = detoxify.Detoxify(
                variant,
                **({"checkpoint": str(checkpoint)} if checkpoint else {}),
                **({"huggingface_config_path": str(folder)} if folder else {}),
            )
        except Exception as error:
            line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise InputError(
                f"detoxify:{variant}: its weights cannot be loaded ({line}); is there a network?"
            ) from error
        self.languages: tuple[str, ...] | None = None if variant == "multilingual" else ("en",)
        self.name = f"Detoxify {variant} (detoxify {version('detoxify')}; toxicity)"
        self.identity = f"toxicity detoxify {variant} {version('detoxify')}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        scores = np.full(len(texts), BLANK[self.kind])
        filled = [index for index, text in enumerate(texts) if not is_blank(text)]
        for start in range(0, len(filled), _BATCH):
            part = filled[start : start + _BATCH]
            scores[part] = np.atleast_1d(self._model.predict([texts[index] for index in part])["toxicity"])
        return scores
