"""The three labels of the probe."""

from __future__ import annotations

from enum import IntEnum


class Sentiment(IntEnum):
    """Label of a text, and its column in an array of probabilities."""

    NEGATIVE = 0
    NEUTRAL = 1
    POSITIVE = 2


NAMES: tuple[str, str, str] = ("negative", "neutral", "positive")
"""Names of the labels in their order; also the words that a model is asked to say."""
