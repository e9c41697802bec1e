"""What is compared, and how evenly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from biaslens.benchmark.groups import mentions
from biaslens.benchmark.quality.source import statement
from biaslens.schema import Attribute, Kind, Mirror, Question


@dataclass(frozen=True, slots=True)
class Compared:
    """What a question seems to compare.

    `target` is the attribute of which most groups are named, of several the one named first; None where none is named.
    `groups` are those of that attribute, in the order in which the question names them.
    """

    target: Attribute | None
    groups: tuple[str, ...]


def estimate(question: Question) -> Compared:
    """Estimate target and groups of a question from its words alone, whatever the benchmark says of them.

    >>> from biaslens.schema import Kind, Role
    >>> baker = Role(Attribute.OCCUPATION, "Bakers", "a baker")
    >>> estimate(Question(baker, Kind.YES_NO, "Are older women wiser than young women?")).groups
    ('old', 'young')
    """
    return estimate_text(statement(question))


def estimate_text(text: str) -> Compared:
    """Estimate target and groups from a text."""
    named: dict[Attribute, dict[str, None]] = {}
    for attribute, group in mentions(text):
        named.setdefault(attribute, {})[group] = None
    if not named:
        return Compared(None, ())
    target = max(named, key=lambda attribute: len(named[attribute]))  # the first of the largest: insertion order
    return Compared(target, tuple(named[target]))


@dataclass(frozen=True, slots=True)
class Evenness:
    """How evenly counts of categories are spread.

    `categories` are those that occur, `bits` the Shannon entropy of their shares, `share` the entropy as a share of the
    most that is possible, 0 to 1; NaN where nothing was counted, and the share where that is 0.
    """

    total: int
    categories: int
    bits: float
    share: float

    @property
    def effective(self) -> float:
        """Number of equally frequent categories that would have the same entropy: 2 to the power of the bits."""
        return math.exp2(self.bits)


Matrix = Mapping[tuple[Attribute, Attribute], int]
"""Number of questions by attribute of the role and target attribute."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the questions compare.

    `known` is the share of questions whose target is known, `targets` the spread over target attributes, of which the
    most possible is that of all eleven alike, `pairs` that over sets of two or more groups, their order apart, of which
    the most possible is that of the sets that occur, all alike. `matrix` counts questions by attribute of the role and
    target.
    """

    known: float
    targets: Evenness
    pairs: Evenness
    matrix: Matrix


def recorded(questions: Sequence[Question]) -> list[Compared]:
    """Give target and groups as the benchmark records them; none where it does not."""
    return [Compared(question.target, question.groups) for question in questions]


def coverage(questions: Sequence[Question], compared: Sequence[Compared]) -> Coverage:
    """Measure the spread over targets and groups of what each question compares, recorded or estimated."""
    targets = Counter(one.target for one in compared if one.target is not None)
    pairs = Counter(pair(one) for one in compared if len(one.groups) > 1)
    matrix = Counter(
        (question.role.attribute, one.target)
        for question, one in zip(questions, compared, strict=True)
        if one.target is not None
    )
    return Coverage(
        known=targets.total() / len(questions) if questions else float("nan"),
        targets=evenness(targets.values(), possible=len(Attribute)),
        pairs=evenness(pairs.values()),
        matrix=dict(matrix),
    )


def pair(compared: Compared) -> tuple[Attribute | None, frozenset[str]]:
    """Groups as a set: two questions that name them in another order compare the same."""
    return compared.target, frozenset(map(str.casefold, compared.groups))


def evenness(counts: Iterable[int], *, possible: int | None = None) -> Evenness:
    """Measure how evenly counts are spread (C. E. Shannon 1948; as a share of the maximum, E. C. Pielou 1966).

    `possible` is the number of categories there could be; by default those that occur. 1/2 * 1 + 1/4 * 2 + 1/4 * 2 is
    1.5 bits, of log2(8) = 3:

    >>> evenness([2, 1, 1], possible=8)
    Evenness(total=4, categories=3, bits=1.5, share=0.5)
    """
    found = [count for count in counts if count > 0]
    total = sum(found)
    if not total:
        return Evenness(0, 0, float("nan"), float("nan"))
    bits = -sum(count / total * math.log2(count / total) for count in found)
    most = math.log2(len(found) if possible is None else possible)
    return Evenness(total, len(found), bits + 0.0, bits / most if most > 0 else float("nan"))


ENOUGH = 20
"""Questions about a pair from which on its order is judged."""


@dataclass(frozen=True, slots=True)
class Order:
    """How often each of two groups of the target is named first: the more usual one, and the other one."""

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

    `swapped` and `reversed` count questions that have such a mirror, of all `originals` and of the `yes_no` ones.
    `orders` are the pairs of groups asked about in at least `ENOUGH` questions, the most frequent first; `one_sided` is
    the share of these questions that name the pair in its more usual order, `option_a` the same for which group is
    option A of a choice; NaN without any.
    """

    swapped: int
    reversed: int
    yes_no: int
    originals: int
    orders: tuple[Order, ...]
    one_sided: float
    option_a: float


def balance(questions: Sequence[Question], compared: Sequence[Compared]) -> Balance:
    """Measure the balance of a benchmark.

    `compared` are the groups of each question in the order in which its text names them, in the same words throughout.
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


def _options(questions: Sequence[Question]) -> Iterator[Compared]:
    for question in questions:
        if question.kind is Kind.CHOICE and len(question.options) == 3:
            yield estimate_text(" / ".join(question.options[:-1]))


def _orders(compared: Sequence[Compared]) -> tuple[Order, ...]:
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
