"""Whether a question has the form of its kind, and names its groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from biaslens.benchmark.quality.faults import Rule
from biaslens.benchmark.validation import placeholder
from biaslens.schema import Kind, Question

Finding = tuple[Rule, str]
"""A rule and what breaks it."""

_AUXILIARY = (
    r"(?:am|are|is|was|were|do|does|did|have|has|had|can|could|may|might|must|shall|should|will|would)(?:n['’]t)?"
)
_PRONOUN = "(?:i|you|he|she|it|we|they|this|that|there)"
_LEAD_IN = r"(?:[^?.!,:;]{1,60}, ){0,2}"
_PLAIN = re.compile(rf"{_AUXILIARY}\b", re.IGNORECASE)
_YES_NO = re.compile(rf"{_LEAD_IN}{_AUXILIARY}\b", re.IGNORECASE)
_WHY = re.compile(rf"{_LEAD_IN}why\b", re.IGNORECASE)
_TAG = re.compile(
    r", (?:right|correct|true|yes|no|agreed?|don['’]t you think|(?:do|would) you agree"
    rf"|{_AUXILIARY} (?:not )?{_PRONOUN}(?: true| so| correct)?)\?$",
    re.IGNORECASE,
)
_ABSTAINS = re.compile(
    r"\b(?:cannot|can['’]t|can not|could not|couldn['’]t|do not|don['’]t|i refuse|i decline|unable|abstain|undecided|"
    r"none|neither|nobody|no one|not (?:sure|choose|able|possible|say|answer)|prefer not|rather not|"
    r"no (?:answer|choice|opinion))\b",
    re.IGNORECASE,
)
_EARLY = re.compile(
    r"(?:i (?:can|could|do|am|would|refuse|decline|abstain|prefer)|none of|neither|nobody|undecided|not sure)",
    re.IGNORECASE,
)
_GROUPS = (
    r"(?: [\w-]+)? (?:races?|religions?|ethnicit(?:y|ies)|nationalit(?:y|ies)|genders?|cultures?|backgrounds?|regions?|"
    r"(?:age|social|racial|ethnic|religious|cultural|income|demographic|minority) (?:groups?|class(?:es)?)|groups?|"
    r"faiths?|social class(?:es)?|countr(?:y|ies)|professions?|body types?|communit(?:y|ies))\b"
)
_VAGUE = re.compile(
    rf"(?<!\bin )\b(?:certain|some|specific|particular|different|various){_GROUPS}"
    rf"|\b(?:one|another){_GROUPS}(?=[^?]* (?:than|over) (?:the other|another|others))",
    re.IGNORECASE,
)
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffd]")


def form_findings(question: Question) -> Iterator[Finding]:
    """Check the form of one question; nothing is found in a good one."""
    if not question.text.strip():
        yield Rule.EMPTY, f"empty {question.kind} question"
        return
    text = question.text.strip()
    yield from _fillers(question)
    if not text.endswith("?"):
        yield Rule.FORM, f"does not end with a question mark: {text!r}"
    if question.kind is Kind.YES_NO:
        if _TAG.search(text) and not _PLAIN.match(text):
            yield Rule.TAG, f"asserts, and asks for assent: {text!r}"
        elif not _YES_NO.match(text):
            yield Rule.FORM, f"does not begin with an auxiliary verb: {text!r}"
    if question.kind is Kind.WHY and not _WHY.match(text):
        yield Rule.FORM, f"does not begin with Why: {text!r}"
    yield from _option_findings(question)


def text_findings(text: str, label: str) -> Iterator[Finding]:
    """Check that a text is there, filled in and readable."""
    if not text.strip():
        yield Rule.EMPTY, f"empty {label}"
    if found := placeholder(text):
        yield Rule.PLACEHOLDER, f"{found!r} in {label} {text!r}"
    if _CONTROL.search(text):
        yield Rule.CHARACTER, f"a character that is not text in {label} {text!r}"


def _fillers(question: Question) -> Iterator[Finding]:
    yield from text_findings(question.text, "question")
    for label, items in (("option", question.options), ("group", question.groups)):
        for item in items:
            yield from text_findings(item, label)
            if "|" in item:
                yield Rule.CHARACTER, f"'|', which separates items, in {label} {item!r}"
    for text in (question.text, *question.options[:-1]):
        if found := _VAGUE.search(text):
            yield Rule.VAGUE, f"{found.group()!r} in {text!r}"


def _option_findings(question: Question) -> Iterator[Finding]:
    options = question.options
    if question.kind is not Kind.CHOICE:
        if options:
            yield Rule.OPTIONS, f"a {question.kind} question with options: {question.text!r}"
        return
    if len(options) < 3:
        yield Rule.OPTIONS, f"{len(options)} options, fewer than two groups and the abstaining one: {question.text!r}"
        return
    if len(set(map(str.casefold, options))) < len(options):
        yield Rule.OPTIONS, f"two options are the same: {' | '.join(options)!r}"
    if not _ABSTAINS.search(options[-1]):
        yield Rule.OPTIONS, f"the last option {options[-1]!r} does not abstain: {question.text!r}"
    if early := [option for option in options[:-1] if _EARLY.match(option)]:
        yield Rule.OPTIONS, f"option {early[0]!r} abstains and is not the last: {question.text!r}"
