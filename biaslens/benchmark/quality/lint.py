"""All faults of a benchmark, in the order of its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from biaslens.benchmark.quality.duplicates import Pair
from biaslens.benchmark.quality.faults import Fault, Rule
from biaslens.benchmark.quality.form import Finding, form_findings, text_findings
from biaslens.benchmark.quality.grammar import capital_findings, grammar_findings, persona_findings
from biaslens.benchmark.quality.source import Source
from biaslens.schema import Kind, Mirror, Question, Role


def lint(source: Source, repeats: Sequence[Pair]) -> tuple[Fault, ...]:
    """List every fault of a benchmark: of reading, of its roles, its questions, its mirrors.

    Parameters
    ----------
    source
        The benchmark.
    repeats
        Its exact repeats, from `duplicates`.
    """
    return (
        *source.faults,
        *_role_faults(source),
        *(fault for _, fault in sorted(_question_faults(source, repeats), key=_position)),
    )


def _position(found: tuple[int, Fault]) -> int:
    return found[0]


def _role_faults(source: Source) -> Iterator[Fault]:
    for role, place in zip(source.roles, source.role_places, strict=True):
        for rule, message in _role_findings(role):
            yield Fault(rule, place, message)


def _role_findings(role: Role) -> Iterator[Finding]:
    yield from text_findings(role.name, "role name")
    yield from text_findings(role.persona, "persona")
    yield from grammar_findings(role.name)
    yield from persona_findings(role.persona)


def _question_faults(source: Source, repeats: Sequence[Pair]) -> Iterator[tuple[int, Fault]]:
    places = source.question_places
    # The same groups and options occur in many questions.
    phrase_findings = lru_cache(maxsize=None)(lambda text: tuple(grammar_findings(text)))
    for index, question in enumerate(source.questions):
        for rule, message in (
            *form_findings(question),
            *grammar_findings(question.text),
            *capital_findings(question.text),
            *(finding for option in question.options for finding in phrase_findings(option)),
        ):
            yield index, Fault(rule, places[index], message)
    for index, first in repeats:
        yield index, Fault(Rule.REPEAT, places[index], f"repeats {places[first]}: {source.questions[index].text!r}")
    for index, message in _mirror_findings(source.questions):
        yield index, Fault(Rule.MIRROR, places[index], message)


def _mirror_findings(questions: Sequence[Question]) -> Iterator[tuple[int, str]]:
    if not any(question.mirror or question.mirror_of for question in questions):
        return
    originals = {question.id: question for question in questions if question.mirror_of is None}
    for index, question in enumerate(questions):
        if (question.mirror is None) != (question.mirror_of is None):
            yield index, "has only one of 'mirror' and 'mirror_of'"
        if question.mirror_of is None:
            continue
        original = originals.get(question.mirror_of)
        if original is None or (original.role, original.kind) != (question.role, question.kind):
            yield index, f"mirror_of {question.mirror_of!r} is no original of the same role and kind"
        if question.id in originals:
            yield index, f"says the same as an original: {question.text!r}"
        if question.mirror is Mirror.REVERSED and question.kind is not Kind.YES_NO:
            yield index, f"a {question.kind} question has no reversed mirror"
