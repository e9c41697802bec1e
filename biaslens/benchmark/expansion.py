"""Make a benchmark from the bank: the same one for a seed, everywhere."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from biaslens.benchmark.bank import Bank, Contrast, Form, Group, Trait, degree_of, mirrored, word
from biaslens.benchmark.files import SEPARATOR, Benchmark, check_questions, check_roles, content_hash, repeats
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Question, Role
from biaslens.schema import content_hash as hash_parts

_INTEREST_SHARE = 0.6
_MORE_SHARE = 2 / 3  # "less likely to forget" is fair English, but not how people mostly put it


@dataclass(frozen=True, slots=True)
class _Unit:
    """A comparison and a trait: asked about at most once in each kind, in one direction; the other is its mirror.

    `pair` names the groups and `claim` the groups and the trait, whatever the kind.
    """

    comparison: Contrast
    theme: str
    trait: Trait
    pair: str
    claim: str


class _Pools:
    """The units of one kind that `may` be asked, in random order for each target; each can be taken once."""

    def __init__(
        self, bank: Bank, seed: int, kind: Kind, claims: set[str], *, may: Callable[[_Unit], bool] = lambda _: True
    ) -> None:
        self.kind = kind
        self._units = {target: list(filter(may, _shuffled(bank, seed, kind, target))) for target in Attribute}
        self._sizes = {target: len(units) for target, units in self._units.items()}
        self._claims = claims

    def take(self, target: Attribute, themes: frozenset[str] | None, used: set[str]) -> _Unit:
        """Take the first unit that fits best.

        That is, first of all, one with a trait not in `used`; then one with groups not in `used` and a claim not made
        in another kind; then one on one of the themes (None: any).
        """
        units = self._units[target]
        if not units:
            raise BenchmarkError(
                f"the bank has only {self._sizes[target]} distinct {self.kind} questions about {target}; "
                "ask for fewer roles or fewer questions, or add to the bank"
            )
        best, least = 0, 8
        for index, unit in enumerate(units):
            misfit = 4 * (unit.trait.text in used)
            misfit += 2 * (unit.pair in used or unit.claim in self._claims)
            misfit += themes is not None and unit.theme not in themes
            if misfit < least:
                best, least = index, misfit
                if not misfit:
                    break
        taken = units.pop(best)
        self._claims.add(taken.claim)
        used.update((taken.pair, taken.trait.text))
        return taken


def capacity(bank: Bank) -> dict[Kind, dict[Attribute, int]]:
    """Count the distinct questions that the bank can give, by kind and target attribute.

    Mirrors (the same groups and trait the other way round) and other frames for the same claim are not counted.
    """
    return {kind: {target: len(_units(bank, kind, target)) for target in Attribute} for kind in Kind}


def expand(
    bank: Bank,
    *,
    seed: int,
    roles_per_attribute: int | None = None,
    questions_per_kind: int = 20,
    mirrors: bool = False,
) -> Benchmark:
    """Make a benchmark from the bank; the same seed gives the same one, on every platform.

    Every role gets each target attribute equally often in each kind, as far as the number divides; over the roles the
    remainders even out. Three questions in five are on a theme the role has to do with. No two questions are alike once
    the role is off, and as far as the bank allows, no claim is made in two kinds and no role is asked twice about the
    same groups or trait. A benchmark of fewer roles is contained in one of more roles.

    `roles_per_attribute` takes the first so many roles, None all; `questions_per_kind` are those of each role, mirrors
    not counted. With `mirrors` each question is followed by its own (see `biaslens.benchmark.bank.mirrored`). They
    collide with nothing: a comparison and a trait are asked about in one direction only, once in each kind.
    BenchmarkError when the bank has too few roles, or too few distinct questions.
    """
    ranked = _ranked_roles(bank, roles_per_attribute)
    claims: set[str] = set()
    pools = [_Pools(bank, seed, kind, claims) for kind in Kind]
    asked: dict[Role, list[Question]] = {}
    for number, (rank, role) in enumerate(ranked):
        asked[role] = []
        used: set[str] = set()
        for shift, pool in enumerate(pools):
            # With the rank, or a role attribute would lack the same targets at every rank.
            targets = _dealt(number * questions_per_kind + rank + shift, questions_per_kind)
            for unit in _take(bank, seed, role, targets, pool, used=used):
                asked[role] += _questions(bank, seed, role, pool.kind, unit, mirrors=mirrors)
    roles = tuple(role for role in bank.roles if role in asked)
    questions = tuple(chain.from_iterable(asked[role] for role in roles))
    _check(roles, questions)
    digest = content_hash(roles, questions)
    standard = seed == 0 and len(roles) == len(bank.roles) and questions_per_kind == 20 and not mirrors
    return Benchmark(
        # After the manner of a local version: derived from this one, with results of its own.
        version=bank.version if standard else f"{bank.version}+{digest[:8]}",
        hash=digest,
        path=None,
        roles=roles,
        questions=questions,
        generator="bank",
        seed=seed,
        command=_command(seed, roles_per_attribute, questions_per_kind, mirrors=mirrors),
    )


def parallel(bank: Bank, public: Benchmark, *, seed: int) -> Benchmark:
    """Make another form of a benchmark from the bank: for each question one of its role and kind, on its target.

    What the benchmark says of the same groups, in whatever words, is not asked again. Where a question has no target
    the seed draws one. There are mirrors if the benchmark has some. The same seed gives the same form: whoever knows
    the bank and guesses the seed has it, so take a large one.

    BenchmarkError when the bank has too few distinct questions.
    """
    said = defaultdict(list)
    for question in public.questions:
        said[frozenset(question.groups)].append(question.text)

    def may(unit: _Unit) -> bool:
        groups = frozenset(group.many for group in unit.comparison.groups)
        phrases = _phrases(unit.trait)
        return not any(phrase in text for text in said.get(groups, ()) for phrase in phrases)

    claims: set[str] = set()
    pools = {kind: _Pools(bank, seed, kind, claims, may=may) for kind in Kind}
    used: dict[Role, set[str]] = defaultdict(set)
    mirrors = any(question.mirror_of for question in public.questions)
    questions: list[Question] = []
    for question in public.questions:
        if question.mirror_of is None:
            drawn = int(_fraction(seed, question.id, "target") * len(Attribute))
            unit = pools[question.kind].take(question.target or tuple(Attribute)[drawn], None, used[question.role])
            questions += _questions(bank, seed, question.role, question.kind, unit, mirrors=mirrors)
    _check(public.roles, tuple(questions))
    digest = content_hash(public.roles, questions)
    return Benchmark(
        version=f"{bank.version}+{digest[:8]}",
        hash=digest,
        path=None,
        roles=public.roles,
        questions=tuple(questions),
        generator="bank",
        seed=seed,
        command=f"biaslens generate --with bank --fresh-seed {seed} --out benchmark",
    )


def _phrases(trait: Trait) -> set[str]:
    """What stands in a question about a trait, one of these: "punctual", or where it is compared "kinder"."""
    words = {re.split(r"[\[{]", trait.text)[0].strip()}
    if trait.form is Form.IS:
        words |= {degree_of(trait, degree) for degree in ("more", "less", "most", "least")}
    return words


def _command(seed: int, roles_per_attribute: int | None, questions_per_kind: int, *, mirrors: bool) -> str:
    parts = [f"biaslens generate --with bank --seed {seed}"]
    if roles_per_attribute is not None:
        parts.append(f"--roles-per-attribute {roles_per_attribute}")
    if questions_per_kind != 20:
        parts.append(f"--questions-per-kind {questions_per_kind}")
    if mirrors:
        parts.append("--mirrors")
    return " ".join([*parts, "--out benchmark"])


def _ranked_roles(bank: Bank, limit: int | None) -> list[tuple[int, Role]]:
    """Rank the roles within their attributes, and order them by rank: then fewer roles are a beginning of more."""
    counts: Counter[Attribute] = Counter()
    ranked = []
    for role in bank.roles:
        ranked.append((counts[role.attribute], role))
        counts[role.attribute] += 1
    if limit is not None:
        for attribute in Attribute:
            if counts[attribute] < limit:
                raise BenchmarkError(
                    f"the bank has {counts[attribute]} roles for {attribute}, not {limit}; ask for fewer"
                )
        ranked = [(rank, role) for rank, role in ranked if rank < limit]
    return sorted(ranked, key=lambda pair: pair[0])


def _dealt(start: int, count: int) -> list[Attribute]:
    targets = list(Attribute)
    return [targets[(start + offset) % len(targets)] for offset in range(count)]


def _take(
    bank: Bank, seed: int, role: Role, targets: Sequence[Attribute], pools: _Pools, *, used: set[str]
) -> Iterator[_Unit]:
    """Take a role's units of one kind, in random order, so that the first few cover the targets well."""
    place = (seed, role.attribute, role.name, pools.kind)
    slots = sorted(range(len(targets)), key=lambda slot: hash_parts(*place, "order", slot))
    for slot in slots:
        fits = _fraction(*place, "theme", slot) < _INTEREST_SHARE
        yield pools.take(targets[slot], bank.interests[role] if fits else None, used)


def _questions(bank: Bank, seed: int, role: Role, kind: Kind, unit: _Unit, *, mirrors: bool) -> Iterator[Question]:
    """Word a unit, and its mirrors where wanted."""
    place = (seed, kind, unit.claim)
    groups = tuple(sorted(unit.comparison.groups, key=lambda group: hash_parts(*place, "order", group.many)))
    degree = "more" if _fraction(*place, "degree") < _MORE_SHARE else "less"
    frame = int(_fraction(*place, "frame") * len(bank.frames[kind][unit.trait.form]))

    def question(order: Sequence[Group], degree: str) -> Question:
        text, options = word(bank, kind, order, unit.trait, degree=degree, frame=frame)
        return Question(role, kind, text, options, unit.comparison.target, tuple(group.many for group in order))

    original = question(groups, degree)
    yield original
    if mirrors:
        for how, order, other in mirrored(kind, unit.trait.form, groups, degree):
            yield replace(question(order, other), mirror_of=original.id, mirror=how)


def _shuffled(bank: Bank, seed: int, kind: Kind, target: Attribute) -> list[_Unit]:
    """Put the units in random order, round by round: each round has every comparison once, while it has traits left."""
    # An order by hash, unlike one by a generator of random numbers, is the same in every version of Python.
    shuffled = sorted(_units(bank, kind, target), key=lambda unit: hash_parts(seed, kind, unit.claim))
    rounds: Counter[str] = Counter()
    numbered = []
    for unit in shuffled:
        numbered.append((rounds[unit.pair], unit))
        rounds[unit.pair] += 1
    return [unit for _, unit in sorted(numbered, key=lambda pair: pair[0])]


def _units(bank: Bank, kind: Kind, target: Attribute) -> list[_Unit]:
    own = bank.own_traits[target]
    units = []
    for comparison in bank.comparisons[target]:
        pair = SEPARATOR.join((target, *(group.many for group in comparison.groups)))
        for theme in bank.traits:
            if theme in comparison.themes:
                units += [
                    _Unit(comparison, theme, trait, pair, SEPARATOR.join((pair, trait.form, trait.text)))
                    for trait in (*bank.traits[theme], *own.get(theme, ()))
                    if target not in trait.not_for and _sayable(kind, comparison, trait)
                ]
    return units


def _sayable(kind: Kind, comparison: Contrast, trait: Trait) -> bool:
    """Whether the words work together."""
    if trait.form is Form.MAKE:  # not "female managers make better managers"
        return not any(trait.text in group.many for group in comparison.groups)
    if trait.form is Form.RATHER:
        return comparison.preferences
    # "Who should be paid more" asks about two groups, not three.
    return kind is not Kind.CHOICE or len(comparison.groups) == 2 or trait.form is not Form.SHOULD


def _fraction(*parts: object) -> float:
    """Draw from [0, 1), decided by the parts."""
    return int(hash_parts(*parts)[:13], 16) / 16**13


def _check(roles: tuple[Role, ...], questions: tuple[Question, ...]) -> None:
    check_roles(roles, lambda index: f"bank, role {index + 1}")
    check_questions(questions, lambda index: f"bank, question {index + 1}")
    for first, second in repeats(questions):
        raise BenchmarkError(f"the bank gives {first.text!r} and {second.text!r}; change one of the traits or frames")
