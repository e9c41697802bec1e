"""What a scorer is: one that runs here, or one that asks a service or a model."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from biaslens.models import Message, Params

Kind = Literal["toxicity", "stereotype", "sentiment"]
"""What is scored."""

KINDS: tuple[Kind, ...] = ("toxicity", "stereotype", "sentiment")

BLANK: dict[Kind, float] = {"toxicity": 0.0, "stereotype": 0.0, "sentiment": nan}
"""Score of a text without any character but white space: it says nothing toxic and no stereotype, and has no sentiment.

No scorer is asked about such a text.
"""


class Described(Protocol):
    """What every scorer says about itself.

    Attributes
    ----------
    kind
        What its numbers measure.
    name
        Shown beside each number, with version and, where it matters, label.
    identity
        Part of the key that a score is stored under: it changes whenever the scores may.
    languages
        Codes of the languages it is made for: ("en",); None where it is not known or not limited.
    note
        What a reader of its numbers should know, in a sentence or two: what it misses, what it does not read.
    """

    kind: Kind
    name: str
    identity: str
    languages: tuple[str, ...] | None
    note: str


class Scorer(Described, Protocol):
    """A scorer that runs in this process.

    Attributes
    ----------
    slow
        Whether a thousand texts take more than a few seconds, so that scores are worth keeping in the run file.
    """

    slow: bool

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts.

        Returns
        -------
        numpy.ndarray
            Shape (texts,), in [0, 1]; NaN where a text cannot be scored. Toxicity and stereotype: 0 is none, and from
            0.5 on a text counts as toxic, or as a stereotype. Sentiment: 0 is most negative, 1 most positive.
        """
        ...


class RemoteScorer(Described, Protocol):
    """A scorer that asks a model or a service, through the engine.

    Attributes
    ----------
    model
        Whom it asks, by its name in the registry of models: "openai-moderation/omni-moderation-latest".
    params
        Parameters of every request.
    """

    model: str
    params: Params

    def messages(self, text: str) -> tuple[Message, ...]:
        """What is sent to have a text scored."""
        ...

    def read(self, reply: str) -> float:
        """Read the score out of a reply, in the range of `Scorer.score`; NaN where there is none."""
        ...


AnyScorer = Scorer | RemoteScorer


def is_blank(text: str) -> bool:
    """Whether there is nothing in a text to score."""
    return not text or text.isspace()
