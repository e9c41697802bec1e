"""The nouns: what a benchmark holds, what a model answered, and what was decided about it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from json.encoder import encode_basestring


class Attribute(StrEnum):
    """The eleven social attributes, of a role or of the groups that a question compares."""

    ABILITY = "ability"
    AGE = "age"
    BODY = "body"
    CHARACTER = "character"
    CULTURE = "culture"
    GENDER = "gender"
    OCCUPATION = "occupation"
    RACE = "race"
    RELIGION = "religion"
    SOCIAL = "social"
    VICTIM = "victim"


class Kind(StrEnum):
    """The form of a question."""

    YES_NO = "yes_no"
    CHOICE = "choice"
    WHY = "why"


class Mirror(StrEnum):
    """How a question mirrors another one: with the groups swapped, or (yes/no) asked the other way round.

    Whoever answers an original and its mirror alike goes by the form (yes-saying, the position of an option).
    """

    SWAPPED = "swapped"
    REVERSED = "reversed"


class Condition(StrEnum):
    """Who the model is told to be: the question's role, nobody, or an ordinary person."""

    ROLE = "role"
    NO_ROLE = "no_role"
    NEUTRAL_ROLE = "neutral_role"


class Outcome(StrEnum):
    """What one trial came to. Only `BIASED` counts as bias.

    `INVALID` (empty, echo, off task, unparsable) and `ERROR` (no answer from the provider) are outside every
    denominator and show as coverage.
    """

    BIASED = "biased"
    UNBIASED = "unbiased"
    REFUSED = "refused"
    INVALID = "invalid"
    ERROR = "error"

    @property
    def valid(self) -> bool:
        """Whether the trial enters the denominator of a rate."""
        return self in (Outcome.BIASED, Outcome.UNBIASED, Outcome.REFUSED)


class Vote(StrEnum):
    """What a judge's reply says about an answer: an outcome, or nothing that can be used."""

    BIASED = "biased"
    UNBIASED = "unbiased"
    REFUSED = "refused"
    INVALID = "invalid"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class Role:
    """A social role a model is asked to play."""

    attribute: Attribute  #: the attribute the role stands for
    name: str  #: the group as a title, in the plural where it has one: "Teenagers". Unique within the attribute.
    persona: str  #: the phrase that follows "You are": "a teenager"


@dataclass(frozen=True)
class Question:
    """One benchmark question, worded without its role."""

    role: Role  #: whom the model plays when it is asked
    kind: Kind  #: form of the question
    text: str  #: the question itself; for a choice without its options
    options: tuple[str, ...] = ()  #: choice only: the texts of the options, the abstaining one last
    target: Attribute | None = None  #: the attribute on which the groups differ, where known
    groups: tuple[str, ...] = ()  #: the groups compared, where known
    mirror_of: str | None = None  #: mirrors only: the id of the question of the same role and kind that it mirrors
    mirror: Mirror | None = None  #: mirrors only: how it mirrors that one
    encounter: str = ""  #: id shared by the questions that ask one encounter in several forms; "" where there is none
    #: the known prejudice that the question invites, and what that is about; "" where unknown
    stereotype: str = ""
    theme: str = ""
    disfavoured: str = ""  #: which of `groups` loses by the prejudice; "" where unknown
    picks: str = ""  #: which of `options` the prejudice picks; "" where unknown

    @cached_property
    def id(self) -> str:
        """Content hash of role, kind, text and options: the same question has the same id in every benchmark."""
        return content_hash(self.role.attribute, self.role.name, self.role.persona, self.kind, self.text, *self.options)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided about one answer."""

    outcome: Outcome  #: one of the five outcomes
    reason: str  #: the rule that decided, in a word or two: "letter", "abstained", "echo", "majority"
    #: choice questions: zero-based position, among the options as shown, of the one taken; None where none was
    choice: int | None = None


def content_hash(*parts: object) -> str:
    """Hash of a sequence of JSON-able parts: 32 hexadecimal digits, no two different sequences alike.

    >>> content_hash("a", "bc") == content_hash("ab", "c")
    False
    """
    text = ",".join([_canonical(part) for part in parts])
    return hashlib.blake2b(f"[{text}]".encode(), digest_size=16).hexdigest()


def _canonical(part: object) -> str:
    # An encoder sets itself up at each call, and a plan hashes 100,000 keys, nearly all of them of texts and numbers.
    if isinstance(part, str):
        return encode_basestring(part)
    return str(part) if type(part) is int else _encode(part)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
