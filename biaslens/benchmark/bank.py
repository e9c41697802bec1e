"""The bank: groups, traits and frames, and the questions they are put into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from biaslens._util.files import resource
from biaslens.benchmark.files import read_toml
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Role

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

    The forms are an adjective phrase ("reliable"), a verb phrase with a plural subject ("keep a promise"), a plural
    noun ("team leaders"), what is deserved ("a pay rise"); for `should` a verb phrase, in which what stands in brackets
    is left out where only one group is named, and ``{b}`` is the other one ("be paid more [than {b}] for the same
    work"); and for `rather` a preference between two people ("share an office with {a} [than with {b}]"), with `who`,
    the choice between people ("With whom would you rather share an office"). `better` is what the preferred of two
    people is said to be; `not_for` are target attributes for which the trait is a plain fact or makes no sense.
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
class Contrast:
    """Two or three groups that differ in one attribute, in the order in which the bank lists them.

    `themes` are what they are compared on: where a prejudice is likely, and the claim is not a plain fact.
    `preferences` says whether to ask for preferences between two of them as persons ("would you rather").
    """

    target: Attribute
    groups: tuple[Group, ...]
    themes: frozenset[str]
    preferences: bool = True


@dataclass(frozen=True, slots=True)
class Bank:
    """Everything questions are made of.

    `version` is that of the benchmark that its full expansion with seed 0 is, `abstain` the last option of every
    choice, `interests` the themes that each role has most to do with. The traits of each theme go with any attribute,
    `own_traits` with one target attribute only.
    """

    version: str
    abstain: str
    roles: tuple[Role, ...]
    interests: Mapping[Role, frozenset[str]]
    traits: Mapping[str, tuple[Trait, ...]]
    own_traits: Mapping[Attribute, Mapping[str, tuple[Trait, ...]]]
    comparisons: Mapping[Attribute, tuple[Contrast, ...]]
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

    BenchmarkError when a file is missing or malformed, or the files do not fit together; one line, naming the file.
    """
    folder = path or resource("benchmark") / "bank"
    general = _load(folder / "bank.toml", _General)
    traits = _load(folder / "traits.toml", _Traits).traits
    frames = _load(folder / "frames.toml", _Frames)

    def themes(names: Iterable[str], file: Path) -> frozenset[str]:
        found = frozenset(names)
        if unknown := sorted(found - traits.keys()):
            raise BenchmarkError(f"{file}: unknown theme {unknown[0]!r}; traits.toml has {', '.join(traits)}")
        return found

    interests: dict[Role, frozenset[str]] = {}
    comparisons: dict[Attribute, tuple[Contrast, ...]] = {}
    own_traits = {}
    compared: dict[frozenset[str], Attribute] = {}
    for attribute in Attribute:
        file = folder / "roles" / f"{attribute}.toml"
        for entry in _load(file, _Roles).roles:
            role = Role(attribute, entry.name, entry.persona)
            if role in interests:
                raise BenchmarkError(f"{file}: role {entry.name!r} occurs twice; remove one")
            interests[role] = themes(general.everyone.union(entry.on.split()), file)
        file = folder / f"{attribute}.toml"
        table = _load(file, _Target)
        themes(table.traits, file)
        own_traits[attribute] = table.traits
        comparisons[attribute] = tuple(
            Contrast(attribute, groups, themes(each.on.split(), file), each.preferences)
            for each, groups in zip(table.comparisons, _groups(file, attribute, table, compared), strict=True)
        )
    by_kind = {Kind.YES_NO: frames.yes_no, Kind.CHOICE: frames.choice, Kind.WHY: frames.why}
    version, abstain = general.version, general.abstain
    return Bank(version, abstain, tuple(interests), interests, traits, own_traits, comparisons, by_kind)


def _load(path: Path, model: type[_Table]) -> _Table:
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BenchmarkError(f"{path}: {place}: {first['msg'].removeprefix('Value error, ')}") from None


def _groups(
    file: Path, target: Attribute, table: _Target, compared: dict[frozenset[str], Attribute]
) -> Iterator[tuple[Group, ...]]:
    """Groups of each comparison, which is none of those `compared` before."""
    for comparison in table.comparisons:
        if unknown := [name for name in comparison.groups if name not in table.groups]:
            raise BenchmarkError(f"{file}: comparison of unknown group {unknown[0]!r}")
        groups = tuple(table.groups[name] for name in comparison.groups)
        names = frozenset(group.many for group in groups)
        if names in compared or len(names) < len(groups):
            raise BenchmarkError(
                f"{file}: {' / '.join(sorted(names))} is compared twice "
                f"(also in {compared.get(names, target)}.toml); remove one"
            )
        compared[names] = target
        yield groups


_OTHER = {"more": "less", "less": "more"}
_WITHOUT_DEGREE = (Form.SHOULD, Form.RATHER)

_Group = TypeVar("_Group")


def mirrored(
    kind: Kind, form: Form, groups: Sequence[_Group], degree: str
) -> Iterator[tuple[Mirror, Sequence[_Group], str]]:
    """List the mirrors of a claim: how, and with which groups and degree ("more" or "less") it is worded.

    Every claim has a swapped mirror, its groups in the opposite order; in a choice that is the order of the options.
    A yes/no claim with a degree also has a reversed one: less for more. A preference, or what should be done, has
    none, for its reverse is its swapped mirror. To each mirror as to the original, No is the unbiased answer:
    neither group is kinder, so neither is it less kind. The group that the claim is about comes first.

    >>> [(str(how), *rest) for how, *rest in mirrored(Kind.YES_NO, Form.IS, ["cats", "dogs"], "more")]
    [('swapped', ['dogs', 'cats'], 'more'), ('reversed', ['cats', 'dogs'], 'less')]
    """
    yield Mirror.SWAPPED, groups[::-1], degree
    if kind is Kind.YES_NO and form not in _WITHOUT_DEGREE:
        yield Mirror.REVERSED, groups, _OTHER[degree]


_DEGREES = {
    "more": ("more", "better"),
    "less": ("less", "worse"),
    "most": ("most", "best"),
    "least": ("least", "worst"),
}
_OPPOSITES = {"more": "most", "less": "least"}
_BRACKET = re.compile(r" ?\[([^\]]*)\]")


def word(
    bank: Bank, kind: Kind, groups: Sequence[Group], trait: Trait, *, degree: str, frame: int
) -> tuple[str, tuple[str, ...]]:
    """Word one question: its text, and for a choice the groups and the abstaining option.

    The group that the claim is about stands first; a choice names the groups in this order. `degree` is "more" or
    "less", without effect on preferences and on what should be done; `frame` counts round the frames that fit.

    >>> bank, trait = load_bank(), Trait(likely="keep a promise")
    >>> groups = [Group(many="cats", one="a cat"), Group(many="dogs", one="a dog")]
    >>> word(bank, Kind.YES_NO, groups, trait, degree="less", frame=0)[0]
    'Are cats less likely than dogs to keep a promise?'
    """
    form = trait.form
    frames = bank.frames[kind][form]
    names = [group.one if form is Form.RATHER else group.many for group in groups]
    one_of = kind is Kind.CHOICE
    if one_of and len(groups) > 2:
        degree = _OPPOSITES[degree]
    joiner = "or" if one_of or form is Form.RATHER else "and"
    others = joined(names[1:], joiner)
    text = frames[frame % len(frames)].format(
        a=names[0],
        b=others,
        list=joined(names, "or"),
        more=degree_of(trait, degree),
        trait=_phrase(trait.text, names[0], others, alone=one_of),
        who=trait.who,
        better=trait.better,
    )
    options = (*map(_capitalised, names), bank.abstain) if one_of else ()
    return _capitalised(text), options


def degree_of(trait: Trait, degree: str) -> str:
    """Say how much: "kinder" for "kind", "better" for what groups make, else "more" and its like.

    >>> degree_of(Trait.model_validate({"is": "good at planning"}), "least")
    'worst at planning'
    """
    plain, good = _DEGREES[degree]
    if trait.form is Form.MAKE:
        return f"the {good}" if degree in ("most", "least") else good
    if trait.form is not Form.IS:
        return plain
    irregular: str | None = getattr(trait, degree)
    if irregular:
        return irregular
    if trait.text.startswith("good "):
        return trait.text.replace("good", good, 1)
    return f"{plain} {trait.text}"


def joined(names: Sequence[str], joiner: str) -> str:
    """Join names into a list.

    >>> joined(["Hindus", "Jews", "Sikhs"], "or")
    'Hindus, Jews or Sikhs'
    """
    return f" {joiner} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _phrase(template: str, a: str, b: str, *, alone: bool) -> str:
    text = _BRACKET.sub("" if alone else r" \1", template)
    return text.replace("{a}", a).replace("{b}", b)


def _capitalised(name: str) -> str:
    return name[0].upper() + name[1:]
