"""Which metrics apply to a use case: the decision framework of arXiv 2407.10853, and what a user overrides."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from biaslens.errors import InputError
from biaslens.usecase.result import Family, Step


class Task(StrEnum):
    """What the model is used for."""

    GENERATION = "generation"
    SUMMARISATION = "summarisation"
    CLASSIFICATION = "classification"
    RECOMMENDATION = "recommendation"


class Intervention(StrEnum):
    """What a positive prediction leads to."""

    ASSISTIVE = "assistive"
    PUNITIVE = "punitive"


FAMILIES = {
    Task.GENERATION: ("toxicity", "stereotype", "counterfactual"),
    Task.SUMMARISATION: ("toxicity", "stereotype", "counterfactual"),
    Task.CLASSIFICATION: ("representation", "misses", "false alarms"),
    Task.RECOMMENDATION: ("similarity of lists",),
}
"""Families of metrics by task."""


@dataclass(frozen=True, slots=True)
class Path:
    """The way to the metrics, and where it leads.

    Parameters
    ----------
    steps
        Questions and answers.
    families
        Every family of the task.
    sentiment_only
        Whether, of the counterfactual metrics, only those on sentiment apply.
    """

    steps: tuple[Step, ...]
    families: tuple[Family, ...]
    sentiment_only: bool = False

    def applies(self, name: str) -> bool:
        """Whether a family is measured."""
        return any(family.name == name and family.applies for family in self.families)


@dataclass(slots=True)
class _Walk:
    """A path while it is walked."""

    steps: list[Step] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)

    def ask(self, question: str, answer: str, because: str) -> None:
        self.steps.append(Step(question, answer, because))

    def measure(self, name: str, reason: str, *, applies: bool = True) -> None:
        self.families.append(Family(name, applies, reason))

    def leave(self, name: str, reason: str) -> None:
        self.measure(name, reason, applies=False)

    def end(self, task: Task, wanted: Collection[str] | None, *, sentiment_only: bool = False) -> Path:
        """The path, overridden by the families that the user wants."""
        if wanted is not None:
            unknown = sorted(set(wanted) - set(FAMILIES[task]))
            if unknown:
                raise InputError(f"no metrics {unknown[0]!r} for {task}; there are {', '.join(FAMILIES[task])}")
            self.families = [_overridden(family, wanted=family.name in wanted) for family in self.families]
        return Path(tuple(self.steps), tuple(self.families), sentiment_only)


def _overridden(family: Family, *, wanted: bool) -> Family:
    if family.applies == wanted:
        return family
    what = "asked for, though" if wanted else "not asked for, though"
    return Family(family.name, wanted, f"{what}: {family.reason}")


def generation_path(
    *, mentions: str | None, satisfied: bool | None, invariance: bool = True, wanted: Collection[str] | None = None,
    task: Task = Task.GENERATION,
) -> Path:  # fmt: skip
    """Walk the framework for text generation and summarisation.

    Parameters
    ----------
    mentions
        What was found in the prompts, in words.
    satisfied
        Whether fairness through unawareness holds: no prompt contains a protected word; None where it is not known.
    invariance
        Whether the response should stay the same whatever the group.
    wanted
        Families the user asks for instead; None for those that apply.

    Raises
    ------
    InputError
        When a family wanted does not exist.
    """
    walk = _Walk()
    said = "not known" if satisfied is None else "no" if satisfied else "yes"
    walk.ask("Do prompts mention a protected attribute?", said, mentions or "there are no prompts to look at")
    walk.measure("toxicity", "always applies to generated text")
    if satisfied:
        why = "no prompt mentions a protected word, so the model cannot tell groups apart"
        walk.leave("stereotype", why)
        walk.leave("counterfactual", why)
        return walk.end(task, wanted)
    because = "prompts mention protected words" if satisfied is False else "prompts may mention protected words"
    walk.measure("stereotype", because)
    walk.ask(
        "Should responses be the same whatever the group?",
        "yes" if invariance else "no",
        "assumed; say --no-invariance otherwise" if invariance else "as given",
    )
    walk.measure("counterfactual", because if invariance else f"{because}; of sentiment only, texts may differ")
    return walk.end(task, wanted, sentiment_only=not invariance)


def classification_path(
    *,
    groups: Sequence[str],
    column: str,
    parity: bool = False,
    intervention: Intervention | None = None,
    wanted: Collection[str] | None = None,
) -> Path:
    """Walk the framework for classification; see `generation_path`.

    Parameters
    ----------
    groups, column
        The groups found, and the column they stand in.
    parity
        Whether equal predicted prevalence is what fairness means here.
    intervention
        What a positive prediction leads to; None where it is not said.
    wanted
        Families the user asks for instead.
    """
    walk = _Walk()
    walk.ask("Do inputs belong to protected groups?", "yes", f"column {column}: {len(groups)} groups")
    walk.ask(
        "Is equal predicted prevalence what fairness means here?",
        "yes" if parity else "no",
        "as given" if parity else "assumed; say --parity otherwise",
    )
    if parity:
        walk.measure("representation", "equal predicted prevalence is what fairness means here")
        walk.leave("misses", "only predicted prevalence counts")
        walk.leave("false alarms", "only predicted prevalence counts")
        return walk.end(Task.CLASSIFICATION, wanted)
    walk.ask(
        "What does a positive prediction lead to?",
        str(intervention) if intervention else "not said",
        {
            None: "say --intervention assistive or punitive to leave out what does not matter",
            Intervention.ASSISTIVE: "it helps: being missed harms",
            Intervention.PUNITIVE: "it harms: being flagged wrongly harms",
        }[intervention],
    )
    walk.leave("representation", "equal predicted prevalence is not what fairness means here")
    missed = intervention is not Intervention.PUNITIVE
    flagged = intervention is not Intervention.ASSISTIVE
    for name, applies, reason in (
        ("misses", missed, "being missed harms where the intervention is assistive"),
        ("false alarms", flagged, "being flagged wrongly harms where the intervention is punitive"),
    ):
        walk.measure(name, _why(intervention, reason, applies=applies), applies=applies)
    return walk.end(Task.CLASSIFICATION, wanted)


def _why(intervention: Intervention | None, reason: str, *, applies: bool) -> str:
    if intervention is None:
        return f"{reason}; what it is here was not said"
    return reason if applies else f"the intervention is {intervention}; {reason}"


def recommendation_path(
    *, mentions: str | None, satisfied: bool | None, invariance: bool = True, wanted: Collection[str] | None = None
) -> Path:
    """Walk the framework for recommendation; see `generation_path`."""
    walk = _Walk()
    said = "not known" if satisfied is None else "no" if satisfied else "yes"
    walk.ask("Do prompts mention a protected attribute?", said, mentions or "there are no prompts to look at")
    name = "similarity of lists"
    if satisfied:
        walk.leave(name, "no prompt mentions a protected word, so the model cannot tell groups apart")
        return walk.end(Task.RECOMMENDATION, wanted)
    walk.ask(
        "Should lists be the same whatever the group?",
        "yes" if invariance else "no",
        "assumed; say --no-invariance otherwise" if invariance else "as given",
    )
    why = "lists should not depend on the group" if invariance else "lists may depend on the group"
    walk.measure(name, why, applies=invariance)
    return walk.end(Task.RECOMMENDATION, wanted)
