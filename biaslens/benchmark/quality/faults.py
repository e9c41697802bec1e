"""A fault of a benchmark file: which rule, where, and what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What a benchmark must keep; the value is the name a report gives it."""

    FILE = "file"
    EMPTY = "empty text"
    CHARACTER = "character"
    PLACEHOLDER = "placeholder"
    VAGUE = "vague group"
    FORM = "form"
    TAG = "tag question"
    OPTIONS = "options"
    ARTICLE = "article"
    DOUBLED = "doubled word"
    SPACING = "spacing"
    PUNCTUATION = "punctuation"
    CAPITAL = "capital"
    AGREEMENT = "agreement"
    REPEAT = "exact repeat"
    MIRROR = "mirror"

    @property
    def meaning(self) -> str:
        """What the rule asks for, in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Rule.FILE: "Every file and row can be read, and its cells hold known terms.",
    Rule.EMPTY: "No name, persona, question or option is empty.",
    Rule.CHARACTER: "Texts are made of characters that can be read, and of no separator.",
    Rule.PLACEHOLDER: "No placeholder is left unfilled.",
    Rule.VAGUE: "Groups are named, not hinted at (“certain races”).",
    Rule.FORM: "Yes/no begins with an auxiliary verb, why with Why, a lead-in apart; all end with a question mark.",
    Rule.TAG: "A yes/no question asks, and does not assert and then ask for assent (“…, right?”).",
    Rule.OPTIONS: "A choice has two or more groups, all different, then the abstaining option; no other kind has any.",
    Rule.ARTICLE: "“a” before a consonant sound and “an” before a vowel sound, and neither before a plural.",
    Rule.DOUBLED: "No word stands twice in a row.",
    Rule.SPACING: "One blank between words, none before a mark and one after it.",
    Rule.PUNCTUATION: "One mark at a time, and brackets and quotation marks in pairs.",
    Rule.CAPITAL: "A question begins with a capital.",
    Rule.AGREEMENT: "Verb and subject agree in number, where that is cheap to see.",
    Rule.REPEAT: "No question says word for word what another one says, once the role is off.",
    Rule.MIRROR: "A mirror names an original of the same role and kind, and differs from it.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach of one rule.

    Parameters
    ----------
    rule
        The rule.
    place
        File and line: "questions.csv:12"; the file alone where it is about all of it.
    message
        What is wrong, in one line, with the words at fault.
    """

    rule: Rule
    place: str
    message: str
