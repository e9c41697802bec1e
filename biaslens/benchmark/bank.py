"""The bank: comparisons of groups, traits and sentence frames, written by people, from which questions are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from biaslens.benchmark.parsing import read_toml
from biaslens.errors import BenchmarkError
from biaslens.resources import resource
from biaslens.schema import Attribute, Kind, Role

Phrase = Annotated[str, Field(pattern=r"^\S(.*\S)?$")]
Article = Annotated[str, Field(pattern=r"^an? \S(.*\S)?$")]


class Form(StrEnum):
    """How a trait compares groups; the key under which a trait is written in the bank."""

    IS = "is"
    LIKELY = "likely"
    MAKE = "make"
    DESERVE = "deserve"
    SHOULD = "should"
    RATHER = "rather"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Trait(_Model):
    """What groups are compared on: exactly one of the six forms, and its degrees where they are irregular.

    Parameters
    ----------
    is_
        An adjective phrase: "reliable".
    likely
        A verb phrase, with a plural subject: "keep a promise".
    make
        A plural noun: "team leaders".
    deserve
        What is deserved: "a pay rise".
    should
        A verb phrase; what stands in brackets is left out where only one group is named, and ``{b}`` is the other
        one: "be paid more [than {b}] for the same work".
    rather
        A preference between two people: "share an office with {a} [than with {b}]".
    more, less, most, least
        Degrees of an adjective phrase: "kinder".
    who
        The choice between people that belongs to `rather`: "With whom would you rather share an office".
    better
        What the preferred of two people is said to be.
    not_for
        Target attributes for which the trait is a plain fact or makes no sense.
    """

    is_: Phrase | None = Field(default=None, alias="is")
    likely: Phrase | None = None
    make: Phrase | None = None
    deserve: Phrase | None = None
    should: Phrase | None = None
    rather: Phrase | None = None
    more: Phrase | None = None
    less: Phrase | None = None
    most: Phrase | None = None
    least: Phrase | None = None
    who: Phrase | None = None
    better: Phrase = "better"
    not_for: frozenset[Attribute] = frozenset()

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [form for form in Form if self._of(form) is not None]
        if len(given) != 1:
            raise ValueError(f"a trait has exactly one of {', '.join(Form)}; this one has {len(given)}")
        if (given == [Form.RATHER]) != (self.who is not None):
            raise ValueError("'who' belongs to 'rather', and only to it")
        return self

    def _of(self, form: Form) -> str | None:
        text: str | None = getattr(self, "is_" if form is Form.IS else form)
        return text

    @cached_property
    def form(self) -> Form:
        """Which of the six forms it has."""
        return next(form for form in Form if self._of(form) is not None)

    @cached_property
    def text(self) -> str:
        """The phrase itself."""
        return self._of(self.form) or ""


class Group(_Model):
    """A group as it stands in a sentence: "women", "a woman"."""

    many: Phrase
    one: Article


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two or three groups that differ in one attribute.

    Parameters
    ----------
    target
        The attribute.
    groups
        The groups, in the order in which the bank lists them.
    themes
        What they are compared on: where a prejudice is likely, and the claim is not a plain fact.
    preferences
        Whether to ask for preferences between two of them as persons ("would you rather").
    """

    target: Attribute
    groups: tuple[Group, ...]
    themes: frozenset[str]
    preferences: bool = True


@dataclass(frozen=True, slots=True)
class Bank:
    """Everything questions are made of.

    Parameters
    ----------
    version
        Version of the benchmark that its full expansion with seed 0 is.
    abstain
        Text of the last option of every choice.
    roles
        The roles, in order.
    interests
        The themes that each role has most to do with.
    traits
        The traits of each theme that go with any attribute.
    own_traits
        The traits of each theme that go with one target attribute only.
    comparisons
        The comparisons of each target attribute.
    frames
        Sentence frames of each kind and form.
    """

    version: str
    abstain: str
    roles: tuple[Role, ...]
    interests: Mapping[Role, frozenset[str]]
    traits: Mapping[str, tuple[Trait, ...]]
    own_traits: Mapping[Attribute, Mapping[str, tuple[Trait, ...]]]
    comparisons: Mapping[Attribute, tuple[Comparison, ...]]
    frames: Mapping[Kind, Mapping[Form, tuple[str, ...]]]


class _General(_Model):
    version: Phrase
    abstain: Phrase
    everyone: frozenset[str] = frozenset()


class _Role(_Model):
    name: Phrase
    persona: Phrase
    on: Phrase


class _Roles(_Model):
    roles: tuple[_Role, ...]


class _Comparison(_Model):
    groups: Annotated[tuple[str, ...], Field(min_length=2, max_length=3)]
    on: Phrase
    preferences: bool = True


class _Target(_Model):
    comparisons: tuple[_Comparison, ...]
    groups: Mapping[str, Group]
    traits: Mapping[str, tuple[Trait, ...]] = {}


class _Traits(_Model):
    traits: Mapping[str, tuple[Trait, ...]]


def _fillable(frame: str) -> str:
    try:
        frame.format_map(dict.fromkeys(("a", "b", "list", "more", "trait", "who", "better"), ""))
    except (KeyError, ValueError) as error:
        raise ValueError(f"frame {frame!r} cannot be filled: {error}") from None
    return frame


def _every_form(frames: Mapping[Form, object]) -> Mapping[Form, object]:
    if missing := [form for form in Form if form not in frames]:
        raise ValueError(f"no frames for {', '.join(missing)}")
    return frames


_Frame = Annotated[Phrase, AfterValidator(_fillable)]
_WhyFrame = Annotated[_Frame, Field(pattern="^Why ")]
_AnyFrame = TypeVar("_AnyFrame", bound=str)
_ByForm = Annotated[Mapping[Form, Annotated[tuple[_AnyFrame, ...], Field(min_length=1)]], AfterValidator(_every_form)]


class _Frames(_Model):
    yes_no: _ByForm[_Frame]
    choice: _ByForm[_Frame]
    why: _ByForm[_WhyFrame]


_Table = TypeVar("_Table", bound=BaseModel)


def load_bank(path: Path | None = None) -> Bank:
    """Read a bank from its folder of TOML files; by default the one that comes with the package.

    Raises
    ------
    BenchmarkError
        When a file is missing or malformed, or the files do not fit together; one line, naming the file.
    """
    folder = path or resource("benchmark") / "bank"
    general = _load(folder / "bank.toml", _General)
    traits = _load(folder / "traits.toml", _Traits).traits
    frames = _load(folder / "frames.toml", _Frames)
    interests = _interests(folder, general.everyone)
    targets = {attribute: _load(folder / f"{attribute}.toml", _Target) for attribute in Attribute}
    for file, names in _theme_names(interests, targets):
        if unknown := sorted(names - traits.keys()):
            raise BenchmarkError(f"{folder / file}: unknown theme {unknown[0]!r}; traits.toml has {', '.join(traits)}")
    comparisons = {name: _comparisons(folder, name, table) for name, table in targets.items()}
    _refuse_repeats(folder, comparisons)
    return Bank(
        version=general.version,
        abstain=general.abstain,
        roles=tuple(interests),
        interests=interests,
        traits=traits,
        own_traits={attribute: table.traits for attribute, table in targets.items()},
        comparisons=comparisons,
        frames={Kind.YES_NO: frames.yes_no, Kind.CHOICE: frames.choice, Kind.WHY: frames.why},
    )


def _load(path: Path, model: type[_Table]) -> _Table:
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BenchmarkError(f"{path}: {place}: {first['msg'].removeprefix('Value error, ')}") from None


def _interests(folder: Path, everyone: frozenset[str]) -> dict[Role, frozenset[str]]:
    """Read the roles, each with its themes and those of everyone."""
    interests: dict[Role, frozenset[str]] = {}
    for attribute in Attribute:
        path = folder / "roles" / f"{attribute}.toml"
        for entry in _load(path, _Roles).roles:
            role = Role(attribute, entry.name, entry.persona)
            if role in interests:
                raise BenchmarkError(f"{path}: role {entry.name!r} is there twice; remove one")
            interests[role] = everyone.union(entry.on.split())
    return interests


def _theme_names(
    interests: Mapping[Role, frozenset[str]], targets: Mapping[Attribute, _Target]
) -> list[tuple[str, frozenset[str] | set[str]]]:
    """List every mention of themes outside traits.toml, with its file."""
    names: list[tuple[str, frozenset[str] | set[str]]] = [
        (f"roles/{role.attribute}.toml", themes) for role, themes in interests.items()
    ]
    for attribute, table in targets.items():
        on = (comparison.on.split() for comparison in table.comparisons)
        names.append((f"{attribute}.toml", set(table.traits).union(*on)))
    return names


def _comparisons(folder: Path, target: Attribute, table: _Target) -> tuple[Comparison, ...]:
    made = []
    for comparison in table.comparisons:
        if unknown := [name for name in comparison.groups if name not in table.groups]:
            raise BenchmarkError(f"{folder / f'{target}.toml'}: comparison of unknown group {unknown[0]!r}")
        groups = tuple(table.groups[name] for name in comparison.groups)
        made.append(Comparison(target, groups, frozenset(comparison.on.split()), comparison.preferences))
    return tuple(made)


def _refuse_repeats(folder: Path, comparisons: Mapping[Attribute, tuple[Comparison, ...]]) -> None:
    first: dict[frozenset[str], Attribute] = {}
    for comparison in chain.from_iterable(comparisons.values()):
        names = frozenset(group.many for group in comparison.groups)
        if names in first or len(names) < len(comparison.groups):
            raise BenchmarkError(
                f"{folder / f'{comparison.target}.toml'}: {' / '.join(sorted(names))} is compared twice "
                f"(also in {first.get(names, comparison.target)}.toml); remove one"
            )
        first[names] = comparison.target
