"""What a comparison of two models came to, in words."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from biaslens.report.table import printable


def verdict(pair: Mapping[str, object], *, pairs: int = 1) -> str:
    """Say in words what a comparison of two models came to.

    A sentence says that a model is more biased only where rules decided all answers, or labels say so too: judges of
    why answers err by model, and their errors can make a difference or hide one.

    Parameters
    ----------
    pair
        A row of `Comparison.pairs`.
    pairs
        How many were compared: with several, the corrected p-value decides and is shown.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    difference, low, high, p, p_holm, least = (
        float(str(pair[name]))
        for name in ("difference", "difference_low", "difference_high", "p", "p_holm", "minimal_difference")
    )
    if difference < 0:
        a, b, difference, low, high = b, a, -difference, -high, -low
    size = f"{100 * difference:+.1f} points"
    if pd.isna(low):
        return f"{a} against {b}: {size}; how sure that is, is not known: all questions are of one role"
    tests = _p(p) if pairs == 1 else f"{_p(p)}, for {pairs} pairs {_p(p_holm)}"
    size += f" (95 % interval {100 * low:.1f} to {100 * high:.1f}; p {tests})"
    labels_say = pair["labels_say"]
    if bool(pair["tied"]):
        raw = " in the raw rates" if labels_say else ""
        seen = "" if pd.isna(least) else f"; the design would see differences from {100 * least:.1f} points on"
        return f"no difference can be told{raw} between {a} and {b}: {size}{seen}"
    if labels_say in ("", "same"):
        return f"{a} is more biased than {b}: {size}"
    return f"{a} has a higher raw rate than {b}: {size}"


_LABELS_SAY = {
    "same": "corrected by labels, {a} has the higher rate, too; the intervals lie apart",
    "opposite": "corrected by labels, {b} has the higher rate: the raw difference is not to be trusted",
    "overlap": "corrected by labels, {a} still has the higher rate, but the intervals overlap: it is not told which is "
    "more biased",
    "unknown": "the raw difference rests on judges of why answers whose errors are not known; `biaslens sample` draws "
    "answers to label",
}


def what_labels_say(pair: Mapping[str, object]) -> str:
    """Say what labels make of the difference between the raw rates of two models; "" where there is nothing to say.

    Parameters
    ----------
    pair
        A row of `Comparison.pairs`.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    if float(str(pair["difference"])) < 0:
        a, b = b, a
    return _LABELS_SAY.get(str(pair["labels_say"]), "").format(a=a, b=b)


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"= {value:.4f}"
