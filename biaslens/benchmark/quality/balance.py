"""Whether form and order could pass for bias: mirrors, and which group is named first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from biaslens.benchmark.quality.coverage import pair
from biaslens.benchmark.quality.targets import Estimate, estimate_text
from biaslens.schema import Attribute, Kind, Mirror, Question

ENOUGH = 20
"""Questions about a pair from which on its order is judged."""


@dataclass(frozen=True, slots=True)
class Order:
    """How often each of two groups is named first.

    Parameters
    ----------
    target
        The attribute on which they differ.
    first, second
        The groups, the one more often named first in front.
    ahead, behind
        Questions that name `first` first, and those that name `second` first.
    """

    target: Attribute
    first: str
    second: str
    ahead: int
    behind: int

    @property
    def total(self) -> int:
        """Questions about the two."""
        return self.ahead + self.behind

    @property
    def share(self) -> float:
        """Share that names the more usual one first: 0.5 is balanced, 1 always the same order."""
        return self.ahead / self.total


@dataclass(frozen=True, slots=True)
class Balance:
    """Mirrors, and the order of groups.

    Parameters
    ----------
    swapped, reversed
        Questions that have a mirror with the groups swapped, or asked the other way round.
    yes_no
        Yes/no questions that are no mirror.
    originals
        Questions that are no mirror.
    orders
        Pairs of groups asked about in at least `ENOUGH` questions, the most frequent first.
    one_sided
        Share of the questions about these pairs that name the pair in its more usual order; NaN without any.
    option_a
        The same for which group is option A of a choice.
    """

    swapped: int
    reversed: int
    yes_no: int
    originals: int
    orders: tuple[Order, ...]
    one_sided: float
    option_a: float


def balance(questions: Sequence[Question], compared: Sequence[Estimate]) -> Balance:
    """Measure the balance of a benchmark.

    Parameters
    ----------
    questions
        The questions.
    compared
        Groups of each in the order in which its text names them, in the same words throughout (see `targets`).
    """
    originals = [question for question in questions if question.mirror_of is None]
    mirrored = Counter({(question.mirror, question.mirror_of) for question in questions if question.mirror_of})
    kinds = Counter(mirror for mirror, _ in mirrored)
    orders = _orders(compared)
    return Balance(
        swapped=kinds[Mirror.SWAPPED],
        reversed=kinds[Mirror.REVERSED],
        yes_no=sum(question.kind is Kind.YES_NO for question in originals),
        originals=len(originals),
        orders=orders,
        one_sided=_one_sided(orders),
        option_a=_one_sided(_orders(list(_options(questions)))),
    )


def _options(questions: Sequence[Question]) -> Iterator[Estimate]:
    for question in questions:
        if question.kind is Kind.CHOICE and len(question.options) == 3:
            yield estimate_text(" / ".join(question.options[:-1]))


def _orders(compared: Sequence[Estimate]) -> tuple[Order, ...]:
    counts: dict[object, Counter[tuple[Attribute, str, str]]] = {}
    for one in compared:
        if one.target is not None and len(one.groups) == 2:
            counts.setdefault(pair(one), Counter())[one.target, one.groups[0], one.groups[1]] += 1
    found = []
    for ways in counts.values():
        if ways.total() >= ENOUGH:
            (target, first, second), ahead = ways.most_common(1)[0]
            found.append(Order(target, first, second, ahead, ways.total() - ahead))
    return tuple(sorted(found, key=lambda order: (-order.total, order.target, order.first)))


def _one_sided(orders: Sequence[Order]) -> float:
    total = sum(order.total for order in orders)
    return sum(order.ahead for order in orders) / total if total else float("nan")
