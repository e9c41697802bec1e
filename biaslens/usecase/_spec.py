"""What is assessed: the user's options, whether prompts name groups, the metrics that apply, the groups to compare.

The decision framework is that of arXiv 2407.10853; the user may ask for other families of metrics and other groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from biaslens.engine import Observer, Pace
from biaslens.errors import InputError
from biaslens.models import Params
from biaslens.usecase._lexicon import FoundWord, Lexicon
from biaslens.usecase._reading import Response
from biaslens.usecase._result import Family, GroupMention, Resampling, Step
from biaslens.usecase._scoring import DEFAULTS, AnyScorer, Kind
from biaslens.usecase._tokens import tokenise
from biaslens.usecase.metrics import Variant
from biaslens.usecase.metrics._association import targets_or_default

_EXAMPLES = 5
_CHUNK = 10_000
_MOST_WORDS = 3


@dataclass(frozen=True)
class GroupUse:
    """How the prompts name one group: counts of its words, the most frequent first, and indices of the prompts."""

    words: Mapping[str, int]
    prompts: tuple[int, ...]


@dataclass(frozen=True)
class AttributeUse:
    """How prompts name the groups of an attribute; indices of those that do, and the first few as examples."""

    groups: Mapping[str, GroupUse]
    prompts: tuple[int, ...]
    examples: tuple[tuple[int, list[FoundWord]], ...]

    @property
    def satisfied(self) -> bool:
        return not self.prompts


@dataclass(frozen=True)
class Unawareness:
    """How so many prompts name groups, by attribute."""

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

    def __str__(self) -> str:
        if self.satisfied:
            names = ", ".join(name.replace("_", " ") for name in self.attributes)
            return f"none of {self.prompts:,} prompts has a word of {names}"
        said = []
        for name, use in self.attributes.items():
            if use.satisfied:
                continue
            counts = sum((Counter(group.words) for group in use.groups.values()), Counter[str]())
            most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            words = ", ".join(f"{word} {count:,}" for word, count in most[:_MOST_WORDS])
            more = ", ..." if len(most) > _MOST_WORDS else ""
            said.append(f"{name.replace('_', ' ')} in {len(use.prompts):,} ({words}{more})")
        return f"{len(self.mentioning):,} of {self.prompts:,} prompts: {'; '.join(said)}"

    def mentions(self, names: Sequence[str]) -> list[GroupMention]:
        """Protected words of the prompts, by group; `names` are the ids of the prompts."""
        return [
            GroupMention(attribute, group, use.words, [names[index] for index in use.prompts])
            for attribute, uses in self.attributes.items()
            for group, use in uses.groups.items()
            if use.words
        ]


def check_unawareness(prompts: Iterable[str], lexicon: Lexicon) -> Unawareness:
    """Fairness through unawareness: look for protected words in prompts, read in chunks, so that there may be many.

    >>> from biaslens.usecase import load_words
    >>> use = check_unawareness(["Is she qualified?", "Is it raining?"], load_words(["gender"]))
    >>> use.satisfied, use.attributes["gender"].prompts, use.attributes["gender"].groups["female"].words
    (False, (0,), {'she': 1})
    """
    attributes = list(lexicon.attributes.values())
    words = [[Counter[str]() for _ in use.groups] for use in attributes]
    where = [[set[int]() for _ in use.groups] for use in attributes]
    first: list[dict[int, str]] = [{} for _ in attributes]
    read, rest = 0, iter(prompts)
    while chunk := list(islice(rest, _CHUNK)):
        tokens = tokenise(chunk)
        found = lexicon.match(tokens)
        texts = np.searchsorted(tokens.starts, found.token, side="right") - 1
        for (token, length, of, group), text in zip(found.rows(), texts.tolist(), strict=True):
            words[of][group][" ".join(tokens.vocabulary[word] for word in tokens.ids[token : token + length])] += 1
            where[of][group].add(read + text)
            if len(first[of]) < _EXAMPLES:
                first[of].setdefault(read + text, chunk[text])
        read += len(chunk)
    uses = {}
    for use, counts, places, texts_of in zip(attributes, words, where, first, strict=True):
        groups = [GroupUse(dict(n.most_common()), tuple(sorted(at))) for n, at in zip(counts, places, strict=True)]
        examples = (
            (at, [word for word in lexicon.find(text) if word.attribute == use.name]) for at, text in texts_of.items()
        )
        named = tuple(sorted(set[int]().union(*places)))
        uses[use.name] = AttributeUse(dict(zip(use.groups, groups, strict=True)), named, tuple(examples))
    return Unawareness(uses, read)


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


@dataclass(slots=True)
class DecisionPath:
    """Questions, answers and where they lead; for texts also the groups compared, and the words for groups found."""

    steps: list[Step] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    sentiment_only: bool = False
    compared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mentions: list[GroupMention] = field(default_factory=list)

    def applies(self, name: str) -> bool:
        return any(family.name == name and family.applies for family in self.families)

    def ask(self, question: str, answer: str, because: str) -> None:
        self.steps.append(Step(question, answer, because))

    def ask_of_prompts(self, what: str, *, mentions: str | None, satisfied: bool | None, invariance: bool) -> None:
        said = "not known" if satisfied is None else "no" if satisfied else "yes"
        self.ask("Do prompts mention a protected attribute?", said, mentions or "there are no prompts to look at")
        if not satisfied:
            because = "assumed; say --no-invariance otherwise" if invariance else "as given"
            self.ask(f"Should {what} be the same whatever the group?", "yes" if invariance else "no", because)

    def measure(self, reason: str, *names: str, applies: bool = True) -> None:
        self.families += [Family(name, applies, reason) for name in names]

    def overridden(self, task: UseCase, wanted: Collection[str] | None) -> Self:
        """The path with the families that the user wants, if they say so."""
        if wanted is None:
            return self
        if unknown := sorted(set(wanted) - set(FAMILIES[task])):
            raise InputError(f"no metrics {unknown[0]!r} for {task}; there are {', '.join(FAMILIES[task])}")
        for place, family in enumerate(self.families):
            if family.applies != (chosen := family.name in wanted):
                asked = "asked for, though" if chosen else "not asked for, though"
                self.families[place] = Family(family.name, chosen, f"{asked}: {family.reason}")
        return self


_NOT_NAMED = "no prompt mentions a protected word, so the model cannot tell groups apart"


def generation_path(
    *,
    mentions: str | None,
    satisfied: bool | None,
    invariance: bool = True,
    wanted: Collection[str] | None = None,
    task: UseCase = UseCase.GENERATION,
) -> DecisionPath:
    """Follow the decision path for text generation and summarisation.

    `mentions` is what was found in the prompts, in words; `satisfied` whether no prompt contains a protected word, or
    None where that is not known; `invariance` whether the response should stay the same whatever the group. `wanted`
    are the families the user asks for instead of those that apply; InputError where one does not exist.
    """
    path = DecisionPath()
    path.ask_of_prompts("responses", mentions=mentions, satisfied=satisfied, invariance=invariance)
    path.measure("always applies to generated text", "toxicity")
    if satisfied:
        path.measure(_NOT_NAMED, "stereotype", "counterfactual", applies=False)
        return path.overridden(task, wanted)
    because = "prompts mention protected words" if satisfied is False else "prompts may mention protected words"
    path.measure(because, "stereotype")
    path.measure(because if invariance else f"{because}; of sentiment only, texts may differ", "counterfactual")
    path.sentiment_only = not invariance
    return path.overridden(task, wanted)


def classification_path(
    *,
    groups: Sequence[str],
    column: str,
    parity: bool = False,
    intervention: Intervention | None = None,
    wanted: Collection[str] | None = None,
) -> DecisionPath:
    """Follow the decision path for classification, of the groups found in a column; see `generation_path`.

    `parity` says whether equal predicted prevalence is what fairness means here, and `intervention` what a positive
    prediction leads to, None where it is not said.
    """
    path = DecisionPath()
    path.ask("Do inputs belong to protected groups?", "yes", f"column {column}: {len(groups)} groups")
    said = ("yes", "as given") if parity else ("no", "assumed; say --parity otherwise")
    path.ask("Is equal predicted prevalence what fairness means here?", *said)
    if parity:
        path.measure("equal predicted prevalence is what fairness means here", "representation")
        path.measure("only predicted prevalence counts", "misses", "false alarms", applies=False)
        return path.overridden(UseCase.CLASSIFICATION, wanted)
    because = {
        None: "say --intervention assistive or punitive to leave out what does not matter",
        Intervention.ASSISTIVE: "it helps: being missed harms",
        Intervention.PUNITIVE: "it harms: being flagged wrongly harms",
    }[intervention]
    path.ask("What does a positive prediction lead to?", str(intervention or "not said"), because)
    path.measure("equal predicted prevalence is not what fairness means here", "representation", applies=False)
    for name, where, harms in (
        ("misses", Intervention.ASSISTIVE, "being missed harms"),
        ("false alarms", Intervention.PUNITIVE, "being flagged wrongly harms"),
    ):
        unsaid = "; what it is here was not said" if intervention is None else ""
        other = f"the intervention is {intervention}; " if intervention not in (None, where) else ""
        path.measure(f"{other}{harms} where the intervention is {where}{unsaid}", name, applies=not other)
    return path.overridden(UseCase.CLASSIFICATION, wanted)


def recommendation_path(
    *, mentions: str | None, satisfied: bool | None, invariance: bool = True, wanted: Collection[str] | None = None
) -> DecisionPath:
    """Follow the decision path for recommendation; see `generation_path`."""
    path = DecisionPath()
    path.ask_of_prompts("lists", mentions=mentions, satisfied=satisfied, invariance=invariance)
    why = "lists should not depend on the group" if invariance else "lists may depend on the group"
    applies = invariance and not satisfied
    path.measure(_NOT_NAMED if satisfied else why, "similarity of lists", applies=applies)
    return path.overridden(UseCase.RECOMMENDATION, wanted)


def groups_compared(
    lexicon: Lexicon, given: Mapping[str, Sequence[str]], found: Unawareness | None, *, named: bool
) -> dict[str, Sequence[str]]:
    """Groups to compare by attribute: those `given`, else those that the word lists name.

    Attributes that the prompts do not mention (`found`) are left out unless the user `named` them, or their groups.
    Gender stands in where none is left. InputError for an attribute or a group that does not exist, or a single group.
    """
    words = lexicon.attributes
    for attribute, groups in given.items():
        if attribute not in words:
            raise InputError(f"no attribute {attribute!r} to compare groups of; there are {', '.join(words)}")
        known = words[attribute].groups
        if unknown := [group for group in groups if group not in known]:
            raise InputError(f"no group {unknown[0]!r} of {attribute}; there are {', '.join(known)}")
        if len(set(groups)) < 2:
            raise InputError(f"a comparison of {attribute} needs two groups; there are {', '.join(known)}")
    if named:
        wanted: Iterable[str] = words
    elif found is None:
        wanted = [*given, "gender"]
    else:
        mentioned = [name for name, use in found.attributes.items() if not use.satisfied]
        wanted = [*mentioned, *given] or ["gender"]
    return {name: tuple(dict.fromkeys(given.get(name, words[name].compared))) for name in words if name in set(wanted)}


MAX_TOKENS = 512
"""Default limit of a response."""

RUN_FILE = "assessment.sqlite"
"""Name of the run file, in the folder of an assessment."""


class AssessmentWatcher(Observer):
    """Watches requests being asked and texts being scored, phase by phase; this one shows nothing."""

    def scored(self, done: int, total: int) -> None:
        """A local scorer has scored so many of so many texts."""


class Recorder:
    """Hears the score of every response and of every pair; this one keeps none."""

    def responses(self, part: Sequence[Response], scores: Mapping[str, Sequence[float]]) -> None:
        """Some responses with their scores by kind: NaN where one could not be scored, none outside the population."""

    def pairs(self, attribute: str, groups: tuple[str, str], rows: Mapping[str, Sequence[object]]) -> None:
        """All pairs of two groups: columns prompt_id and trial, and a score a metric."""


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How to assess generated texts."""

    task: UseCase = UseCase.GENERATION  #: "generation" or "summarisation"
    #: whom to ask the prompts, by full name: "openai/gpt-6-luna"; None to score responses that are there
    model: str | None = None
    #: folder of the run file and the report; a model and paid scorers need one, so that no answer is lost
    out: Path | None = None
    attributes: Sequence[str] | None = None  #: protected attributes; None for those that the prompts mention
    #: groups to compare, by attribute; by default those that the word lists name
    compare: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: files of the user's own words, and whether given names count as words of gender and race
    words: Sequence[Path] = ()
    names: bool = False
    per_prompt: int = 25  #: responses to each prompt; 25 is the convention
    limit: int | None = None  #: only the first so many prompts
    #: system prompt and sampling parameters of the use case
    system: str = ""
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    cluster: str | None = None  #: column that says which prompts belong together, such as those of one topic
    request_seed: int = 0  #: start of the requests' seeds, where the provider takes one
    families: Sequence[str] | None = None  #: families of metrics to measure instead of those that apply
    invariance: bool = True  #: whether responses should be the same whatever the group
    #: name of the scorer of each kind; by default those that work offline
    scorers: Mapping[Kind, str] = field(default_factory=dict)
    #: words whose association with groups is measured; None for those of the package
    targets: Sequence[str] | None = None
    threshold: float = 0.5  #: score from which on a response counts as toxic, as a stereotype, or as positive
    variant: Variant = "paper"  #: "paper", or "langfair" to compare numbers with that toolkit
    resampling: Resampling = field(default_factory=Resampling)
    #: how fast to ask the model, and a remote scorer
    pace: Pace = field(default_factory=Pace)
    scorer_pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        if self.task not in (UseCase.GENERATION, UseCase.SUMMARISATION):
            raise InputError(f"texts are assessed for generation or summarisation, not for {self.task}")
        if self.model is not None and self.out is None:
            raise InputError("a model needs a folder for its answers; give out")
        if self.per_prompt < 1:
            raise InputError(f"responses per prompt must be at least 1, not {self.per_prompt}")
        try:
            targets_or_default(self.targets)
        except ValueError as error:
            raise InputError(str(error)) from None
        unknown = set(self.scorers) - set(DEFAULTS)
        if unknown:
            raise InputError(f"no kind of score {min(unknown)!r}; there are {', '.join(DEFAULTS)}")

    def scorer(self, kind: Kind) -> str:
        return self.scorers.get(kind, DEFAULTS[kind])


Score = Callable[[AnyScorer, Sequence[str]], Awaitable[NDArray[np.float64]]]
"""Scores texts, each different one once; NaN where it cannot."""


@dataclass(frozen=True, kw_only=True)
class TextSpec:
    """The options with what they came to.

    Families that apply, words, groups to compare by attribute, open scorers; and the cluster of each prompt by id, None
    where prompts are not clustered.
    """

    options: TextOptions
    path: DecisionPath
    lexicon: Lexicon
    compared: Mapping[str, Sequence[str]]
    scorers: Mapping[Kind, AnyScorer]
    clusters: Mapping[str, str] | None = None
