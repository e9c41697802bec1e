"""The numbers of a run, or of the runs of a study, in a terminal."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.text import Text

from biaslens._util.text import plural, printable
from biaslens.analysis import Cell, ConditionSummary, RunInfo, Summary
from biaslens.analysis.frame import Took
from biaslens.analysis.summary import ThoughtBias
from biaslens.oracles import screen
from biaslens.report.table import CONDITIONS, KINDS, NOTHING, Column, Table, between, labelled, percent
from biaslens.runfile import answer_times, reading
from biaslens.schema import Attribute, Condition, Kind
from biaslens.stats import Estimand, Estimate
from biaslens.stats.intervals import always_valid

LOW_COVERAGE = 0.9
"""Below this share of valid trials a cell is marked."""

_LEGEND = (
    "Biased questions: more than half of the planned trials are biased. "
    "Bias rate: biased among valid trials (biased, unbiased or refused), with a 95 % interval {for_what}. "
    "Coverage: valid among planned trials; ! marks less than 90 %."
)

FOR_WHAT: Mapping[str, str] = {
    Estimand.LIKE_THESE: "for other roles and comparisons of groups like these",
    Estimand.THESE: "for these very questions, put to other roles",
}
"""What an interval is for, in words."""


def print_table(summary: Summary, console: Console | None = None, *, brief: bool = False) -> None:
    """Print the numbers of a run: by condition what became of the trials, then every attribute and kind.

    Needs 80 columns, on standard output by default; `brief` leaves the attributes out.
    """
    console = console or Console()
    for part in _parts(summary, brief=brief):
        console.print(part)


def _parts(summary: Summary, *, brief: bool) -> Iterator[RenderableType]:
    yield _heading(summary)
    for condition in summary.conditions:
        yield Group(Text(), _headline(condition, growing=summary.growing))
        if condition.cell().questions:
            groups = (None,) if brief else (*Attribute, None)
            yield Group(Text(), _outcomes(condition), Text(), _by_attribute(condition, groups))
        if any(not math.isnan(found) for found in condition.corrected.values()):
            yield Group(Text(), _corrected(condition))
    if summary.thoughts:
        yield Group(Text(), *_thoughts(summary.thoughts))
    yield Group(Text(), Text(_LEGEND.format(for_what=FOR_WHAT[summary.estimand]), style="dim"))
    for warning in warnings(summary):
        yield Group(Text(), Text(f"Note: {warning}", style="yellow"))


@dataclass(frozen=True, slots=True)
class Progress:
    """How fast a run goes: replies of the last ten minutes that had any, in how many seconds, and the age of the last.

    `since` is None without a reply.
    """

    recent: int
    over: float
    since: float | None

    @classmethod
    def of(cls, path: Path, now: datetime) -> Self:
        """Read the times of a run's answers and votes."""
        with reading(path) as store:
            times = sorted(answer_times(store))[-100_000:]
        if not times:
            return cls(0, 0.0, None)
        last = datetime.fromisoformat(times[-1])
        first = bisect_left(times, (last - timedelta(minutes=_RECENT)).isoformat())
        over = (last - datetime.fromisoformat(times[first])).total_seconds()
        return cls(len(times) - first, over, (now - last).total_seconds())


def print_status(summary: Summary, progress: Progress, console: Console | None = None) -> None:
    """Print how far a run is, in a line a condition, and what stands in its way."""
    console = console or Console()
    rows = [(condition, condition.cell(), condition.cell().counts) for condition in summary.conditions]
    took = summary.took.answers
    Table.of(
        {
            "condition": [CONDITIONS[condition.condition] for condition, *_ in rows],
            "asked": [f"{counts.planned - counts.unasked:,} of {counts.planned:,}" for *_, counts in rows],
            "failed": [f"{counts.error:,}" for *_, counts in rows],
            "not judged": [f"{counts.unjudged:,}" for *_, counts in rows],
            "bias rate": [_rate(cell) for _, cell, _ in rows],
            "coverage": [percent(counts.valid / counts.planned) if counts.planned else NOTHING for *_, counts in rows],
            "cost": [
                f"${took[condition.condition].dollars:.2f}"
                if condition.condition in took and took[condition.condition].priced
                else NOTHING
                for condition, *_ in rows
            ],
        }
    ).print(console)
    left = sum(counts.unasked for *_, counts in rows)
    if progress.since is None:
        console.print(Text("Nothing was answered yet."))
        return
    pace = f"Replies within {_ago(progress.over)}: {progress.recent:,}; the last one {_ago(progress.since)} ago."
    if left and progress.over and progress.since < 60 * _RECENT:
        # The first of them began the time, and was answered before it.
        pace += f" At this pace {left:,} answers take about {_ago(progress.over * left / (progress.recent - 1))}."
    console.print(Text(pace))


_RECENT = 10
"""Minutes by which the pace is told, at most."""


def _ago(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(seconds, 0):.0f} seconds"


def _rate(cell: Cell) -> str:
    rate = cell.bias_rate
    text = percent(rate.value)
    return text if math.isnan(rate.low) else f"{text} ({between(rate.low, rate.high)})"


def warnings(summary: Summary) -> Iterator[str]:
    """What a reader must know before believing the numbers, a sentence or two each."""
    run = summary.run
    if run.embedded:
        yield (
            "This is the small embedded model. Its answers are near chance: "
            "they prove the pipeline and are not a finding."
        )
    for condition in summary.conditions:
        yield from _condition_warnings(condition)
        yield from _stopped_warnings(summary, condition.condition)
    corrected = [rate for condition in summary.conditions for rate in condition.corrected.values()]
    if run.panel.startswith(screen.NAME) and all(math.isnan(rate) for rate in corrected):
        yield screen.CAVEAT
    votes, unusable = summary.took.votes, summary.took.unusable_votes
    if unusable or votes.cut:
        yield (
            f"{unusable:,} of {plural(votes.replies, 'vote')} of the judges are unusable, and {votes.cut:,} were cut "
            "off at the limit of tokens; allow more with --judge-max-tokens."
        )


def _stopped_warnings(summary: Summary, condition: Condition) -> Iterator[str]:
    answers, stopped = summary.took.answers.get(condition), summary.took.stopped.get(condition)
    if answers is None or stopped is None:
        return
    where, limit = CONDITIONS[condition], (summary.run.meta.get("params") or {}).get("max_tokens")
    if answers.cut:
        lost, kept = stopped.cut_off, max(answers.cut - stopped.cut_off, 0)
        before = f"{lost:,} before they said anything, which are invalid (--retry-cut TOKENS asks them again)"
        said = [before] * bool(lost) + [f"{kept:,} after, which count"] * bool(kept)
        yield (
            f"{answers.cut:,} of {answers.replies:,} answers {where} were cut off at the limit of tokens"
            f"{f' ({limit})' if limit else ''}: {', '.join(said)}."
        )
    if stopped.retried:
        yield f"{stopped.retried:,} answers {where} had been cut off, and were asked again with a larger limit."
    if stopped.refused_by_provider:
        yield (
            f"{stopped.refused_by_provider:,} refusals {where} are the provider's, by its content filter or a field of "
            "its own, and not the model's words."
        )


def _condition_warnings(condition: ConditionSummary) -> Iterator[str]:
    where = CONDITIONS[condition.condition]
    told = [rate.reason for kind, rate in condition.corrected.items() if kind is not None and rate.reason]
    yield from (f"Rates corrected by labels {where}: {reason}." for reason in dict.fromkeys(told))
    counts = condition.cell().counts
    if not counts.planned:
        yield f"Nothing is planned {where} yet; `biaslens evaluate` asks."
        return
    if counts.unasked or counts.error:
        yield (
            f"The run {where} is not finished: {counts.unasked:,} trials are not asked and {counts.error:,} failed; "
            "start the same evaluation again to ask them."
        )
    why = condition.cell(kind=Kind.WHY).counts.unjudged
    if why:
        yield f"{why:,} why answers {where} are not judged and count nowhere; evaluate again with --judge MODEL."
    if counts.coverage < LOW_COVERAGE:
        yield (
            f"Coverage {where} is {percent(counts.coverage)}: the numbers describe only the trials that could be "
            "decided, and biased questions are undercounted."
        )
    yield from _few_make_it_up(condition)


FEW_FREE = 5.0
"""Degrees of freedom under which an interval rests on a handful of roles or comparisons."""


def _few_make_it_up(condition: ConditionSummary) -> Iterator[str]:
    """Say whose interval rests on few roles or comparisons, of those that have enough of both for another."""
    cells = {KINDS[kind or "all"]: condition.cell(kind=kind) for kind in (None, *Kind)}
    few = [name for name, cell in cells.items() if cell.roles > FEW_FREE + 1 and cell.bias_rate.freedom < FEW_FREE]
    if few:
        yield (
            f"A handful of roles or comparisons make up how the bias rate {CONDITIONS[condition.condition]} varies "
            f"({', '.join(few)}): biased answers are rare or bunched. Its interval is wide for that, may still miss "
            "the rate somewhat more often than it says, and tests between models will hardly find a difference."
        )


def _heading(summary: Summary) -> Text:
    run = summary.run
    resolved = sorted({name for condition in summary.conditions for name in condition.resolved_models})
    last = max((condition.last_answer for condition in summary.conditions), default="")
    lines = {
        "Model": run.model or "unknown",
        "Answered by": ", ".join(resolved) or NOTHING,
        "Last answer": last[:10] or NOTHING,
        "Benchmark": f"{run.benchmark_version or NOTHING} ({run.benchmark_hash[:12] or NOTHING})",
        "Trials": NOTHING if run.trials is None else str(run.trials),
        "Judges": _judges(run),
        "System": run.meta.get("system"),
        "Wording": "templates of one's own" if run.meta.get("templates") else None,
        **dict(_took(summary.took)),
    }
    return labelled(lines)


def _took(took: Took) -> Iterator[tuple[str, str]]:
    tokens, dollars = [], []
    for name, usages in (
        ("answers", list(took.answers.values())),
        ("cut answers", [took.retried]),
        ("votes", [took.votes]),
    ):
        replies, counted, priced, sent, received = (
            sum(getattr(usage, part) for usage in usages)
            for part in ("replies", "counted", "priced", "prompt_tokens", "completion_tokens")
        )
        if counted:
            partly = "" if counted == replies else f" ({counted:,} of {replies:,} counted)"
            thinking = sum(usage.reasoning_tokens for usage in usages)
            thought = f", {thinking:,} of them thinking" if thinking else ""
            tokens.append(f"{name} {sent:,} in, {received:,} out{thought}{partly}")
        if priced:
            partly = "" if priced == replies else f" ({priced:,} of {replies:,} priced)"
            dollars.append(f"{name} {sum(usage.dollars for usage in usages):.4f}{partly}")
    if tokens:
        yield "Tokens", "; ".join(tokens)
        yield "US$", "; ".join(dollars) or "no price known"
    if took.seconds is not None:
        yield "Time", f"{duration(took.seconds)}, {plural(took.starts, 'session')}"


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(3.4), duration(200), duration(7500)
    ('3 s', '3 min 20 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def _judges(run: RunInfo) -> str:
    if not run.panel:
        return "none"
    votes = f", {plural(run.votes, 'vote')} each" if run.votes else ""
    others = len(run.panels) - 1
    return run.panel + votes + (f" ({others} more in this run)" if others > 0 else "")


def _headline(condition: ConditionSummary, *, growing: bool) -> Text:
    cell = condition.cell()
    text = Text(f"{CONDITIONS[condition.condition].capitalize()}: ", style="bold")
    if not cell.questions:
        return text.append("nothing planned", style="not bold")
    rate = cell.bias_rate
    interval = "" if math.isnan(rate.low) else f" (95 % interval {percent(rate.low)} to {percent(rate.high)}"
    if growing and interval and not math.isnan((ends := always_valid(rate))[0]):
        interval += f"; at every look while it grows {between(*ends)} %"
    interval += ")" if interval else ""
    return text.append(
        f"{_biased(cell)} of {cell.questions:,} questions biased, bias rate {percent(rate)}{interval}, "
        f"coverage {percent(cell.counts.coverage)}, {plural(cell.roles, 'role')}",
        style="not bold",
    )


def _corrected(condition: ConditionSummary) -> RenderableType:
    rows = []
    for kind in (*Kind, None):
        found = condition.corrected.get(kind)
        if found is not None and not math.isnan(found):
            raw = condition.cell(kind=kind).bias_rate
            interval = between(found.low, found.high)
            rows.append((_kind(kind), f"{found.items:,}", percent(raw), percent(found), interval))
    return _table("Corrected by labels", "labels", "raw bias rate", "corrected", "95 % interval", rows=rows)


def _thoughts(found: Sequence[ThoughtBias]) -> Iterator[RenderableType]:
    yield Text("Thoughts, a measure of their own that enters no rate above:", style="bold")
    for each in found:
        shares = {
            "biased": each.biased,
            "biased where the answer is fair": each.fair_answer_biased_thought,
            "fair where the answer is biased": each.biased_answer_fair_thought,
        }
        rows = [(name, f"{rate.items:,}", *_with_interval(rate)) for name, rate in shares.items()]
        title = f"{CONDITIONS[each.condition].capitalize()}, by {each.panel}"
        yield Group(Text(), _table(title, "thoughts", "share", "95 % interval", rows=rows))


def _with_interval(rate: Estimate) -> tuple[str, str]:
    return (percent(rate), between(rate.low, rate.high)) if rate.items else (NOTHING, NOTHING)


def _outcomes(condition: ConditionSummary) -> RenderableType:
    names = ("planned", "biased", "unbiased", "refused", "invalid", "error", "pending")
    rows = []
    for kind in (*Kind, None):
        counts = condition.cell(kind=kind).counts
        if counts.planned:
            rows.append((_kind(kind), *(f"{getattr(counts, name):,}" for name in names)))
    return _table("Trials", *names, rows=rows)


def _by_attribute(condition: ConditionSummary, groups: Sequence[Attribute | None]) -> RenderableType:
    rows: list[Sequence[object] | None] = []
    for attribute in groups:
        cells = [condition.cell(attribute, kind) for kind in (*Kind, None)]
        shown = [cell for cell in cells if cell.questions]
        rows += [(attribute or "all" if number == 0 else "", *_row(cell)) for number, cell in enumerate(shown)]
        rows.append(None)
    return _table("Attribute", "kind", "biased questions", "bias rate", "95 % interval", "coverage", rows=rows)


def print_study(summaries: Sequence[Summary], console: Console | None = None) -> None:
    """Print the runs of a study: a table a condition with a row a model, and what must be known of each.

    Biased questions, the bias rate of all kinds with its interval and of each kind, and coverage; on standard output by
    default.
    """
    console = console or Console()
    numbers = map(Column, ("biased", "rate", "95 %", *(KINDS[kind] for kind in Kind), "coverage"))
    columns = [Column("model", words=True, wraps=True), *numbers]
    for condition in Condition:
        rows = []
        for summary in summaries:
            for found in summary.conditions:
                if found.condition is condition:
                    _, biased, rate, interval, coverage = _row(found.cell())
                    kinds = [percent(found.cell(kind=kind).bias_rate) for kind in Kind]
                    name = summary.run.model or summary.run.path.name
                    rows.append((name, str(biased).replace(" ", ""), rate, interval, *kinds, coverage))
        if rows:
            Table(columns, rows, title=CONDITIONS[condition].capitalize()).print(console)
    for summary in summaries:
        for warning in warnings(summary):
            console.print(Text(f"Note: {printable(summary.run.model)}: {warning}", style="yellow"))


def _kind(kind: Kind | None) -> str:
    return KINDS[kind] if kind else "all"


def _biased(cell: Cell) -> str:
    # Of questions without a valid answer it is not known.
    return f"{cell.biased_questions:,}" if cell.counts.valid else NOTHING


def _row(cell: Cell) -> tuple[str | Text, ...]:
    rate, covered = cell.bias_rate, cell.counts.coverage
    low = covered < LOW_COVERAGE
    coverage = Text(f"{percent(covered)}{' !' if low else '  '}", style="yellow" if low else "")
    biased = f"{_biased(cell)} / {cell.questions:,}"
    return _kind(cell.kind), biased, percent(rate), between(rate.low, rate.high), coverage


def _table(first: str, *others: str, rows: Sequence[Sequence[object] | None]) -> RenderableType:
    columns = [Column(first, words=True), *(Column(name, words=name == "kind") for name in others)]
    return Table(columns, rows, loose=True)
