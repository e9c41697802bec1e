"""An assessment as one page that needs no server and loads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from typing import Any

from biaslens.report.assessment.words import in_words, interval, level, p_value, remarks, sections, value
from biaslens.report.page.environment import environment
from biaslens.usecase import Assessment, GroupMention, Measure, Standout

LONGEST = 1200
"""Characters shown of a prompt or a response."""

MOST_WORDS = 20
"""Words shown of a group."""

_LEVEL = 0.05


def page(assessment: Assessment) -> str:
    """Make the page: decision path, metrics with intervals and baselines, the worst examples, what it does not say."""
    return environment().get_template("assessment.html.j2").render(
        up="",
        task=assessment.task,
        source=assessment.source,
        counts=[f"{count:,} {what}" for what, count in assessment.counts.items()],
        steps=assessment.steps,
        families=assessment.families,
        mentions=list(map(_mention, assessment.mentions)),
        sections=list(_sections(assessment)),
        examples=[(heading, list(map(_example, found))) for heading, found in assessment.examples.items() if found],
        warnings=assessment.warnings,
        record=[(name.replace("_", " "), in_words(said)) for name, said in assessment.record.items() if said],
        longest=LONGEST,
        level=level(assessment),
    )  # fmt: skip


def _sections(assessment: Assessment) -> Iterator[dict[str, Any]]:
    for title, measures in sections(assessment.measures):
        yield {
            "title": title,
            "scorers": list(dict.fromkeys(measure.scorer for measure in measures if measure.scorer)),
            "compared": len({measure.groups for measure in measures}) > 1,
            "baselines": any(measure.baseline is not None for measure in measures),
            "tests": list(dict.fromkeys(measure.test for measure in measures if measure.test)),
            "rows": list(map(_row, measures)),
            "remarks": remarks(measures),
        }


def _mention(mention: GroupMention) -> dict[str, Any]:
    words = [f"{word} {count:,}" for word, count in list(mention.words.items())[:MOST_WORDS]]
    more = len(mention.words) - len(words)
    return {
        "attribute": mention.attribute.replace("_", " "),
        "group": mention.group,
        "prompts": f"{len(mention.prompts):,}",
        "words": ", ".join(words) + (f" and {more:,} more" if more else ""),
    }


def _row(measure: Measure) -> dict[str, Any]:
    return {
        "metric": measure.metric,
        "groups": measure.comparison,
        "value": value(measure.estimate),
        "sort": None if isnan(measure.estimate.value) else measure.estimate.value,
        "interval": interval(measure.estimate),
        "baseline": value(measure.baseline),
        "baseline_sort": None if measure.baseline is None or isnan(measure.baseline.value) else measure.baseline.value,
        "baseline_interval": interval(measure.baseline),
        "p": p_value(measure.p_holm),
        "p_sort": None if isnan(measure.p_holm) else measure.p_holm,
        "significant": measure.p_holm < _LEVEL,
        "direction": measure.direction,
        "units": f"{measure.units:,}",
        "unit": measure.unit,
        "few": measure.few,
        "drawing": _drawing(measure),
    }


def _drawing(measure: Measure) -> dict[str, float | None] | None:
    """Places from 0 to 1 of value, interval and baseline within the metric's range; None where there is no such."""
    low, high = measure.bounds
    estimate = measure.estimate
    if isnan(estimate.value) or low == high:
        return None
    if not (isfinite(low) and isfinite(high)):
        # A signed metric without a bound is drawn around its fair value.
        known = [abs(end) for end in (estimate.value, estimate.low, estimate.high) if not isnan(end)]
        high = max([*known, 1e-9]) * 1.1
        low = -high

    def place(number: float) -> float | None:
        return None if isnan(number) else min(1.0, max(0.0, (number - low) / (high - low)))

    baseline = measure.baseline.value if measure.baseline is not None else float("nan")
    return {
        "value": place(estimate.value),
        "low": place(estimate.low),
        "high": place(estimate.high),
        "baseline": place(baseline),
        "zero": place(0.0) if low < 0 else None,
    }


def _example(example: Standout) -> dict[str, Any]:
    return {
        "why": example.why,
        "prompts": [_cut(prompt) for prompt in dict.fromkeys(example.prompts)],
        "texts": [
            (group, *_cut(text))
            for group, text in zip(_padded(example.groups, len(example.texts)), example.texts, strict=True)
        ],
    }


def _padded(groups: Sequence[str], count: int) -> Sequence[str]:
    return groups if len(groups) == count else [""] * count


def _cut(text: str) -> tuple[str, bool]:
    return text[:LONGEST], len(text) > LONGEST
