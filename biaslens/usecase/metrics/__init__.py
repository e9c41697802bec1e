"""Which definition of a metric: the paper's, or the one of a toolkit that departs from it."""

from __future__ import annotations

from typing import Literal, get_args

Variant = Literal["paper", "langfair"]
"""`paper`: as in arXiv 2407.10853. `langfair`: as its companion toolkit computes it, to compare numbers."""


def check_variant(variant: str) -> None:
    """See that there is such a variant; ValueError when there is not."""
    if variant not in get_args(Variant):
        raise ValueError(f"variant: {variant!r} is none of {', '.join(get_args(Variant))}")
