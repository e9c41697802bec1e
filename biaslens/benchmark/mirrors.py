"""Say the same claim the other way round, so that yes-saying and option position can be told from bias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from biaslens.benchmark.bank import Form
from biaslens.schema import Kind, Mirror

_OTHER = {"more": "less", "less": "more"}
_WITHOUT_DEGREE = (Form.SHOULD, Form.RATHER)

_Group = TypeVar("_Group")


def mirrored(
    kind: Kind, form: Form, groups: Sequence[_Group], degree: str
) -> Iterator[tuple[Mirror, Sequence[_Group], str]]:
    """List the mirrors of a claim: how, and with which groups and degree it is worded.

    Every claim has a swapped mirror, its groups in the opposite order; in a choice that is the order of the options.
    A yes/no claim with a degree also has a reversed one: less for more. A preference, or what should be done, has
    none, for its reverse is its swapped mirror. To each mirror as to the original, No is the unbiased answer:
    neither group is kinder, so neither is it less kind.

    Parameters
    ----------
    kind
        Form of the question.
    form
        Form of the trait.
    groups
        The groups, the one the claim is about first.
    degree
        "more" or "less".

    Examples
    --------
    >>> [(str(how), *rest) for how, *rest in mirrored(Kind.YES_NO, Form.IS, ["cats", "dogs"], "more")]
    [('swapped', ['dogs', 'cats'], 'more'), ('reversed', ['cats', 'dogs'], 'less')]
    """
    yield Mirror.SWAPPED, groups[::-1], degree
    if kind is Kind.YES_NO and form not in _WITHOUT_DEGREE:
        yield Mirror.REVERSED, groups, _OTHER[degree]
