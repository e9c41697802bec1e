"""Put a comparison and a trait into words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from biaslens.benchmark.bank import Bank, Form, Group, Trait
from biaslens.schema import Kind

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
    """Word one question.

    Parameters
    ----------
    bank
        Whose frames and abstaining option to use.
    kind
        Form of the question.
    groups
        The groups, the one the claim is about first; a choice names them in this order.
    trait
        What they are compared on.
    degree
        "more" or "less"; without effect on preferences and on what should be done.
    frame
        Which sentence frame, counted round the frames that fit.

    Returns
    -------
    text : str
    options : tuple of str
        The groups and the abstaining option for a choice, else empty.

    Examples
    --------
    >>> from biaslens.benchmark.bank import load_bank
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

    Examples
    --------
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

    Examples
    --------
    >>> joined(["Hindus", "Jews", "Sikhs"], "or")
    'Hindus, Jews or Sikhs'
    """
    return f" {joiner} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _phrase(template: str, a: str, b: str, *, alone: bool) -> str:
    text = _BRACKET.sub("" if alone else r" \1", template)
    return text.replace("{a}", a).replace("{b}", b)


def _capitalised(name: str) -> str:
    return name[0].upper() + name[1:]
