"""Tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from biaslens.analysis import Cell, ConditionSummary, RunInfo, Summary
from biaslens.analysis.frame import Took, Usage
from biaslens.schema import Attribute, Condition, Kind

LOW_COVERAGE = 0.9
"""Below this share of valid trials a cell is marked."""

_CONDITIONS = {
    Condition.ROLE: "playing the roles",
    Condition.NO_ROLE: "without a role",
    Condition.NEUTRAL_ROLE: "as an ordinary person",
}
_KINDS = {Kind.YES_NO: "yes/no", Kind.CHOICE: "choice", Kind.WHY: "why", None: "all"}
_SHORT = {Condition.ROLE: "role", Condition.NO_ROLE: "no role", Condition.NEUTRAL_ROLE: "neutral"}
_STUDY = "{:<9} {:>13} {:>7} {:>12} {:>7} {:>7} {:>7} {:>9}"
_EMPTY = "–"

_LEGEND = (
    "Biased questions: more than half of the planned trials are biased. "
    "Bias rate: biased among valid trials (biased, unbiased or refused), with a 95 % interval clustered by role. "
    "Coverage: valid among planned trials; ! marks less than 90 %."
)


def print_table(summary: Summary, console: Console | None = None, *, brief: bool = False) -> None:
    """Print the numbers of a run: by condition what became of the trials, then every attribute and kind.

    Needs 80 columns.

    Parameters
    ----------
    summary
        The run.
    console
        Where to print; standard output by default.
    brief
        Leave the attributes out.
    """
    console = console or Console()
    for renderable in render(summary, brief=brief):
        console.print(renderable)


def render(summary: Summary, *, brief: bool = False) -> Iterator[RenderableType]:
    """Give the parts of the table in their order."""
    yield _heading(summary)
    for condition in summary.conditions:
        yield Group(Text(), _headline(condition))
        if condition.cell().questions:
            groups = (None,) if brief else (*Attribute, None)
            yield Group(Text(), _outcomes(condition), Text(), _by_attribute(condition, groups))
        if any(not math.isnan(found.rate) for found in condition.corrected.values()):
            yield Group(Text(), _corrected(condition))
    yield Group(Text(), Text(_LEGEND, style="dim"))
    for warning in warnings(summary):
        yield Group(Text(), Text(f"Note: {warning}", style="yellow"))


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
        answers = summary.took.answers.get(condition.condition, Usage())
        if answers.cut:
            limit = (run.meta.get("params") or {}).get("max_tokens")
            yield (
                f"{answers.cut:,} of {answers.replies:,} answers {_CONDITIONS[condition.condition]} were cut off at "
                f"the limit of tokens{f' ({limit})' if limit else ''}: what they would have come to is not known; "
                "`biaslens evaluate --max-tokens` asks with another limit, into another run file."
            )
    votes = summary.took.votes
    if votes.cut:
        yield (
            f"{votes.cut:,} of {votes.replies:,} judges' replies were cut off at the limit of tokens "
            "(--judge-max-tokens)."
        )


def _condition_warnings(condition: ConditionSummary) -> Iterator[str]:
    where = _CONDITIONS[condition.condition]
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
            f"Coverage {where} is {_percent(counts.coverage)}: the numbers describe only the trials that could be "
            "decided, and biased questions are undercounted."
        )


def _heading(summary: Summary) -> Text:
    run = summary.run
    resolved = sorted({name for condition in summary.conditions for name in condition.resolved_models})
    last = max((condition.last_answer for condition in summary.conditions), default="")
    lines = [
        ("Model", run.model or "unknown"),
        ("Answered by", ", ".join(resolved) or _EMPTY),
        ("Last answer", last[:10] or _EMPTY),
        ("Benchmark", f"{run.benchmark_version or _EMPTY} ({run.benchmark_hash[:12] or _EMPTY})"),
        ("Trials", _EMPTY if run.trials is None else str(run.trials)),
        ("Judges", _judges(run)),
    ]
    lines += [("System", system)] if (system := run.meta.get("system")) else []
    lines += [("Wording", "templates of one's own")] if run.meta.get("templates") else []
    lines += _took(summary.took)
    text = Text()
    for label, value in lines:
        text.append(f"{label:<12} ", style="bold")
        text.append(printable(value) + "\n")
    text.rstrip()
    return text


def _took(took: Took) -> Iterator[tuple[str, str]]:
    sorts = [("answers", list(took.answers.values())), ("votes", [took.votes])]
    tokens, dollars = [], []
    for name, usages in sorts:
        replies = sum(usage.replies for usage in usages)
        if counted := sum(usage.counted for usage in usages):
            sent, received = (
                sum(getattr(usage, part) for usage in usages) for part in ("prompt_tokens", "completion_tokens")
            )
            partly = "" if counted == replies else f" ({counted:,} of {replies:,} counted)"
            tokens.append(f"{name} {sent:,} in, {received:,} out{partly}")
        if priced := sum(usage.priced for usage in usages):
            partly = "" if priced == replies else f" ({priced:,} of {replies:,} priced)"
            dollars.append(f"{name} {sum(usage.dollars for usage in usages):.4f}{partly}")
    if tokens:
        yield "Tokens", "; ".join(tokens)
        yield "US$", "; ".join(dollars) or "no price known"
    if took.seconds is not None:
        yield "Time", f"{duration(took.seconds)}, {took.starts} {'start' if took.starts == 1 else 'starts'}"


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(3.4), duration(200), duration(7500)
    ('3 s', '3 min 20 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _judges(run: RunInfo) -> str:
    if not run.panel:
        return "none"
    votes = f", {run.votes} {'vote' if run.votes == 1 else 'votes'} each" if run.votes else ""
    others = len(run.panels) - 1
    return run.panel + votes + (f" ({others} more in this run)" if others > 0 else "")


def _headline(condition: ConditionSummary) -> Text:
    cell = condition.cell()
    text = Text(f"{_CONDITIONS[condition.condition].capitalize()}: ", style="bold")
    if not cell.questions:
        return text.append("nothing planned", style="not bold")
    rate = cell.bias_rate
    interval = "" if math.isnan(rate.low) else f" (95 % interval {_percent(rate.low)} to {_percent(rate.high)})"
    return text.append(
        f"{_biased(cell)} of {cell.questions:,} questions biased, bias rate {_percent(rate.rate)}{interval}, "
        f"coverage {_percent(cell.counts.coverage)}, {cell.roles} {'role' if cell.roles == 1 else 'roles'}",
        style="not bold",
    )


def _corrected(condition: ConditionSummary) -> Table:
    table = _table("Corrected by labels", "labels", "raw bias rate", "corrected", "95 % interval")
    for kind in (*Kind, None):
        found = condition.corrected.get(kind)
        if found is not None and not math.isnan(found.rate):
            raw = condition.cell(kind=kind).bias_rate.rate
            interval = _EMPTY if math.isnan(found.low) else f"{100 * found.low:.1f} to {100 * found.high:.1f}"
            table.add_row(_KINDS[kind], f"{found.labels:,}", _percent(raw), _percent(found.rate), interval)
    return table


def _outcomes(condition: ConditionSummary) -> Table:
    table = _table("Trials", "planned", "biased", "unbiased", "refused", "invalid", "error", "pending")
    for kind in (*Kind, None):
        counts = condition.cell(kind=kind).counts
        if counts.planned:
            numbers = (
                counts.planned, counts.biased, counts.unbiased, counts.refused, counts.invalid, counts.error,
                counts.pending,
            )  # fmt: skip
            table.add_row(_KINDS[kind], *(f"{number:,}" for number in numbers))
    return table


def _by_attribute(condition: ConditionSummary, groups: Sequence[Attribute | None]) -> Table:
    table = _table("Attribute", "kind", "biased questions", "bias rate", "95 % interval", "coverage")
    table.columns[1].justify = "left"
    for attribute in groups:
        cells = [condition.cell(attribute, kind) for kind in (*Kind, None)]
        shown = [cell for cell in cells if cell.questions]
        for number, cell in enumerate(shown):
            name = attribute.value if attribute else "all"
            table.add_row(name if number == 0 else "", *_row(cell), end_section=number == len(shown) - 1)
    return table


def _biased(cell: Cell) -> str:
    # Of questions without a valid answer it is not known.
    return f"{cell.biased_questions:,}" if cell.counts.valid else _EMPTY


def print_study(summaries: Sequence[Summary], console: Console | None = None) -> None:
    """Print the runs of a study in one table, a row a model and condition, and what must be known of each.

    Biased questions, the bias rate of all kinds with its interval and of each kind, and coverage. Needs 80 columns.

    Parameters
    ----------
    summaries
        The runs.
    console
        Where to print; standard output by default.
    """
    console = console or Console()
    console.print(
        Text(_STUDY.format("", "biased", "rate", "95 %", "yes/no", "choice", "why", "coverage"), style="bold")
    )
    for summary in summaries:
        console.print(Text(printable(summary.run.model or summary.run.path.name), style="bold"), soft_wrap=True)
        for condition in summary.conditions:
            cell = condition.cell()
            _, biased, rate, interval, covered = _row(cell)
            kinds = [_percent(condition.cell(kind=kind).bias_rate.rate) for kind in Kind]
            name = _SHORT[condition.condition]
            numbers = (str(biased).replace(" ", ""), rate, interval, *kinds, covered)
            console.print(Text(_STUDY.format(f"  {name}", *map(str, numbers)).rstrip()), soft_wrap=True)
    for summary in summaries:
        for warning in warnings(summary):
            console.print(Text(f"Note: {printable(summary.run.model)}: {warning}", style="yellow"))


def _row(cell: Cell) -> tuple[str | Text, ...]:
    rate, covered = cell.bias_rate, cell.counts.coverage
    low = covered < LOW_COVERAGE
    coverage = Text(f"{_percent(covered)}{' !' if low else '  '}", style="yellow" if low else "")
    interval = _EMPTY if math.isnan(rate.low) else f"{100 * rate.low:.1f} to {100 * rate.high:.1f}"
    return _KINDS[cell.kind], f"{_biased(cell)} / {cell.questions:,}", _percent(rate.rate), interval, coverage


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _percent(value: float) -> str:
    return _EMPTY if math.isnan(value) else f"{100 * value:.1f} %"


def printable(text: str) -> str:
    r"""Replace the control characters in a text of unknown origin: they could steer the terminal.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(character if character.isprintable() else "�" for character in text)


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
