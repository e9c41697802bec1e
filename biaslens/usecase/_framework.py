"""Fairness through unawareness: whether prompts name protected groups at all, with which words, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from biaslens.errors import InputError
from biaslens.usecase._lexicon import FoundWord, Lexicon, Mentions
from biaslens.usecase._result import Family, Step
from biaslens.usecase._tokens import Tokens, tokenise

EXAMPLES = 5
"""So many prompts are shown with the characters of their words."""

_CHUNK = 10_000


@dataclass(frozen=True)
class GroupUse:
    """How the prompts name one group.

    Parameters
    ----------
    words
        How often each word occurs, the most frequent first.
    prompts
        Indices of the prompts in which any occurs, ascending.
    """

    words: Mapping[str, int]
    prompts: tuple[int, ...]

    @property
    def count(self) -> int:
        """Mentions in all."""
        return sum(self.words.values())


@dataclass(frozen=True)
class AttributeUse:
    """How the prompts name the groups of one attribute.

    Parameters
    ----------
    groups
        By group, those that do not occur included.
    prompts
        Indices of the prompts that name any group, ascending.
    examples
        The first few of them, with where the words stand.
    """

    groups: Mapping[str, GroupUse]
    prompts: tuple[int, ...]
    examples: tuple[tuple[int, tuple[FoundWord, ...]], ...]

    @property
    def satisfied(self) -> bool:
        """Whether no prompt names a group of this attribute."""
        return not self.prompts


@dataclass(frozen=True)
class Unawareness:
    """Outcome of the check.

    Parameters
    ----------
    attributes
        By attribute.
    prompts
        How many prompts were read.
    """

    attributes: Mapping[str, AttributeUse]
    prompts: int

    @property
    def satisfied(self) -> bool:
        """Whether no prompt contains a protected word: True is unaware.

        LangFair's ``check_ftu`` reports the reverse.
        """
        return all(use.satisfied for use in self.attributes.values())

    @property
    def mentioning(self) -> tuple[int, ...]:
        """Indices of the prompts that contain a protected word of any attribute, ascending."""
        return tuple(sorted({index for use in self.attributes.values() for index in use.prompts}))


def check_unawareness(prompts: Iterable[str], lexicon: Lexicon) -> Unawareness:
    """Look for protected words in prompts; texts are read in chunks, so that there may be many.

    Examples
    --------
    >>> from biaslens.usecase import load_words
    >>> use = check_unawareness(["Is she qualified?", "Is it raining?"], load_words(["gender"]))
    >>> use.satisfied, use.attributes["gender"].prompts, use.attributes["gender"].groups["female"].words
    (False, (0,), {'she': 1})
    """
    words = {name: {group: Counter[str]() for group in use.groups} for name, use in lexicon.attributes.items()}
    where = {name: {group: set[int]() for group in use.groups} for name, use in lexicon.attributes.items()}
    first: dict[str, dict[int, str]] = {name: {} for name in lexicon.attributes}
    read = 0
    for chunk in _chunks(prompts):
        tokens = tokenise(chunk)
        for name, group, text, spoken in _mentions(tokens, lexicon.match(tokens), lexicon):
            words[name][group][spoken] += 1
            where[name][group].add(read + text)
            if len(first[name]) < EXAMPLES:
                first[name].setdefault(read + text, chunk[text])
        read += len(chunk)
    uses = {}
    for name, by_group in where.items():
        groups = {
            group: GroupUse(dict(words[name][group].most_common()), tuple(sorted(found)))
            for group, found in by_group.items()
        }
        examples = tuple(
            (index, tuple(found for found in lexicon.find(text) if found.attribute == name))
            for index, text in first[name].items()
        )
        uses[name] = AttributeUse(groups, tuple(sorted(set().union(*by_group.values()))), examples)
    return Unawareness(uses, read)


def _mentions(tokens: Tokens, mentions: Mentions, lexicon: Lexicon) -> Iterable[tuple[str, str, int, str]]:
    names = list(lexicon.attributes.values())
    texts = np.searchsorted(tokens.starts, mentions.token, side="right") - 1
    columns = (mentions.token, mentions.length, mentions.attribute, mentions.group, texts)
    for token, length, attribute, group, text in zip(*(column.tolist() for column in columns), strict=True):
        spoken = " ".join(tokens.vocabulary[number] for number in tokens.ids[token : token + length])
        yield names[attribute].name, names[attribute].groups[group], text, spoken


def _chunks(prompts: Iterable[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    for prompt in prompts:
        chunk.append(prompt)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class UseCase(StrEnum):
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
    UseCase.GENERATION: ("toxicity", "stereotype", "counterfactual"),
    UseCase.SUMMARISATION: ("toxicity", "stereotype", "counterfactual"),
    UseCase.CLASSIFICATION: ("representation", "misses", "false alarms"),
    UseCase.RECOMMENDATION: ("similarity of lists",),
}
"""Families of metrics by task."""


@dataclass(frozen=True, slots=True)
class DecisionPath:
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

    def end(self, task: UseCase, wanted: Collection[str] | None, *, sentiment_only: bool = False) -> DecisionPath:
        """The path, overridden by the families that the user wants."""
        if wanted is not None:
            unknown = sorted(set(wanted) - set(FAMILIES[task]))
            if unknown:
                raise InputError(f"no metrics {unknown[0]!r} for {task}; there are {', '.join(FAMILIES[task])}")
            self.families = [_overridden(family, wanted=family.name in wanted) for family in self.families]
        return DecisionPath(tuple(self.steps), tuple(self.families), sentiment_only)


def _overridden(family: Family, *, wanted: bool) -> Family:
    if family.applies == wanted:
        return family
    what = "asked for, though" if wanted else "not asked for, though"
    return Family(family.name, wanted, f"{what}: {family.reason}")


def generation_path(
    *, mentions: str | None, satisfied: bool | None, invariance: bool = True, wanted: Collection[str] | None = None,
    task: UseCase = UseCase.GENERATION,
) -> DecisionPath:  # fmt: skip
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
) -> DecisionPath:
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
        return walk.end(UseCase.CLASSIFICATION, wanted)
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
    return walk.end(UseCase.CLASSIFICATION, wanted)


def _why(intervention: Intervention | None, reason: str, *, applies: bool) -> str:
    if intervention is None:
        return f"{reason}; what it is here was not said"
    return reason if applies else f"the intervention is {intervention}; {reason}"


def recommendation_path(
    *, mentions: str | None, satisfied: bool | None, invariance: bool = True, wanted: Collection[str] | None = None
) -> DecisionPath:
    """Walk the framework for recommendation; see `generation_path`."""
    walk = _Walk()
    said = "not known" if satisfied is None else "no" if satisfied else "yes"
    walk.ask("Do prompts mention a protected attribute?", said, mentions or "there are no prompts to look at")
    name = "similarity of lists"
    if satisfied:
        walk.leave(name, "no prompt mentions a protected word, so the model cannot tell groups apart")
        return walk.end(UseCase.RECOMMENDATION, wanted)
    walk.ask(
        "Should lists be the same whatever the group?",
        "yes" if invariance else "no",
        "assumed; say --no-invariance otherwise" if invariance else "as given",
    )
    why = "lists should not depend on the group" if invariance else "lists may depend on the group"
    walk.measure(name, why, applies=invariance)
    return walk.end(UseCase.RECOMMENDATION, wanted)
