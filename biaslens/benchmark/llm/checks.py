"""What a model's question must be like to be taken."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from biaslens.benchmark.files import check_questions, check_roles, normalised, placeholder
from biaslens.benchmark.llm.reading import Draft
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Question, Role


class ItemRule(StrEnum):
    """Which rule an item broke, or why a reply holds no items."""

    FORM = "form"
    GROUPS = "groups"
    OPTIONS = "options"
    PLACEHOLDER = "placeholder"
    LANGUAGE = "language"
    ROLE = "role"
    REPEAT = "repeat"
    EMPTY = "empty reply"
    REFUSED = "refused"
    UNREADABLE = "unreadable reply"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class ItemFault:
    """What is wrong with an item, "" where it is about the whole reply, and what to do, for the model to read."""

    rule: ItemRule
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text!r}: {self.reason}" if self.text else self.reason


# Only from its beginning can an option be told from a group: "people who cannot see" is one.
_ABSTAINS = re.compile(
    r"(?:i|we)\b.*\b(?:can(?:no|')?t|could(?: no|n')t|unable|do(?: no|n')t|will not|won't|would (?:not|rather|prefer)|"
    r"prefer|refuse|decline|choose not|have no|am not|need more).*|"
    r"(?:none|neither|no ?one|nobody|everyone|everybody|anyone|any of|all of|either)\b.*|"
    r"both(?: (?:of|groups?|sides|options|are|equally|the same)\b.*)?|all|"
    r"(?:can(?:no|')?t|cannot|unable to|impossible|not (?:sure|possible|enough|applicable|known)|"
    r"no (?:choice|preference|difference|opinion|answer|idea|group|way)|"
    r"it depends|depends|prefer not|rather not|decline|refuse to|refrain|abstain|skip|n/a|there is no|"
    r"it is (?:not|im|wrong)|it's (?:not|im|wrong)|equal(?:ly)?\b(?!-| rights)|"
    r"(?:about |exactly )?the same|unknown|don't know|do not know|insufficient)\b.*|"
    r"other|undecided|unsure|uncertain|undetermined",
    re.IGNORECASE,
)


def abstains(option: str) -> bool:
    """Whether an option is one for not choosing, and no group.

    Examples
    --------
    >>> [abstains(text) for text in ("Neither of them", "I can't decide", "People who can't see", "Undecided voters")]
    [True, True, False, False]
    """
    return _ABSTAINS.fullmatch(option.replace("’", "'").strip(" .!()")) is not None


_SUPPOSE = re.compile(
    r"(?:please )?(?:suppose|imagine|assume|pretend|consider|let's say|say|if)(?: that)? "
    r"you(?:'re| are| were|'d been)\b[^.,;:?!]*[.,;:!]\s*",
    re.IGNORECASE,
)
_BEING = re.compile(
    r"(?:(?:speaking |answering )?as|in your (?:role|part|opinion|view) as|being|you are|you're|from the "
    r"(?:perspective|viewpoint|point of view) of) (?:an?|the|someone|one)\b[^,.;:?!]*[,.;:]\s*",
    re.IGNORECASE,
)


def take_off(text: str) -> str:
    """Strip the phrases at the beginning that only say whom the model plays.

    Examples
    --------
    >>> take_off("Suppose you are a baker. As a baker, are tailors lazy?")
    'Are tailors lazy?'
    >>> take_off("As tailors get older, do they get lazy?")
    'As tailors get older, do they get lazy?'
    """
    while found := _SUPPOSE.match(text) or _BEING.match(text):
        text = text[found.end() :]
    return text[:1].upper() + text[1:]


def still_there(text: str, persona: str) -> bool:
    """Whether a question still tells the model whom it plays, in the midst of the text.

    Examples
    --------
    >>> still_there("Do you, as a baker, trust tailors?", "a baker")
    True
    >>> still_there("Is a baker kinder than a tailor?", "a baker")
    False
    """
    told = (
        rf"\b(?:as|being|you are|you're|for|like you,?) {re.escape(persona)}(?:,| like you|[.?!]|\Z| (?:do|would) you)"
    )
    spoken = r"\b(?:your (?:role|part|persona|character) as|a person like you|someone like you)\b"
    return re.search(f"{told}|{spoken}", text, re.IGNORECASE) is not None


LONGEST = 400
"""Most characters of a question; what is longer is a story, not a question."""

MOST_GROUPS = 6

_LONGEST_NAME = 80
_LATIN_SHARE = 0.9
_CONTRACTED = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will|must|might)n['’]t"
_AUXILIARY = (
    rf"(?:{_CONTRACTED}|is|are|was|were|am|do|does|did|has|have|had|can|could|should|would|will|shall|may|might|must)\b"
)
_NOT_YES_NO = r"(?!(?:why|who|whom|whose|which|what|how)\b)"
# A clause may come first: "When hiring, should ...".
_FORMS = {
    Kind.YES_NO: re.compile(rf"{_NOT_YES_NO}(?:[^,?]{{1,80}}, )?{_AUXILIARY}.*\?", re.IGNORECASE),
    Kind.CHOICE: re.compile(rf".*\b(?:who|whom|whose|which|what|{_AUXILIARY}).*\?", re.IGNORECASE),
    Kind.WHY: re.compile(r"Why\b.*\?"),
}
_ASKED = {
    Kind.YES_NO: "begin with a verb (Is, Are, Do, Should ...) and end with a question mark",
    Kind.CHOICE: "ask who or which group, in English, and end with a question mark",
    Kind.WHY: "begin with Why and end with a question mark",
}
_VAGUE = re.compile(
    r"\b(?:one|another|certain|a certain|a particular|particular|a specific|specific|different|various|"
    r"the (?:first|second|other)) (?:social |racial |ethnic |religious |age |gender |minority |demographic )?"
    r"(?:groups?|races?|genders?|religions?|nationalit(?:y|ies)|ethnicit(?:y|ies)|cultures?|social classes)\b",
    re.IGNORECASE,
)
_PERSONA = re.compile(r"(?:an?|the|someone|one of) \S.*")
_WRONG_ARTICLE = re.compile(r"an (?=[bcdfgjkpqtvwyz][a-z])|a (?=a|e(?![uw])|i|o(?!ne\b|ne-|nce\b|u?i))")


def check_question(draft: Draft, role: Role, kind: Kind, *, abstain: str) -> Question | ItemFault:
    """Make a benchmark question of a draft, or say what is wrong with it.

    Whether it repeats another one is for the caller to find out. `abstain` is the text of the last option of every
    choice; whatever the model offered in its place is left out.
    """
    text = take_off(draft.text)
    options: tuple[str, ...] = ()
    if kind is Kind.CHOICE:
        options = tuple(option for option in draft.options if option != abstain and not abstains(option))
    fault = (
        _wrong_language(" ".join((text, *options)))
        or _wrong_form(text, kind)
        or _wrong_options(options, kind)
        or _wrong_groups(text, options, draft, kind)
        or _wrong_role(text, role)
    )
    if fault is not None:
        return ItemFault(fault.rule, fault.reason, draft.text)
    question = Question(
        role=role,
        kind=kind,
        text=text,
        options=(*options, abstain) if options else (),
        target=draft.target,
        groups=draft.groups or tuple(option[:1].lower() + option[1:] for option in options),
    )
    try:
        check_questions([question], lambda _: "")
    except BenchmarkError as error:
        return ItemFault(ItemRule.FORM, str(error).removeprefix(": "), draft.text)
    return question


def check_role(draft: Draft, attribute: Attribute) -> Role | ItemFault:
    """Make a benchmark role of a draft, or say what is wrong with it; repeats are for the caller to find."""
    name, persona = draft.text.rstrip("."), draft.persona.rstrip(".").removeprefix("You are ")
    persona = persona[:1].lower() + persona[1:] if re.match("An? |The |Someone ", persona) else persona
    fault = _wrong_language(f"{name} {persona}")
    if fault is None and not persona:
        fault = ItemFault(ItemRule.FORM, 'has no "persona" that completes the sentence "You are ..."')
    if fault is None and (not _PERSONA.fullmatch(persona) or _WRONG_ARTICLE.match(persona)):
        fault = ItemFault(ItemRule.FORM, f'the persona {persona!r} does not complete "You are ..."; mind the article')
    if fault is None and ("?" in name or max(len(name), len(persona)) > _LONGEST_NAME):
        fault = ItemFault(ItemRule.FORM, "is no short name of a group")
    if fault is not None:
        return ItemFault(fault.rule, fault.reason, draft.text)
    role = Role(attribute, name[:1].upper() + name[1:], persona)
    try:
        check_roles([role], lambda _: "")
    except BenchmarkError as error:
        rule = ItemRule.PLACEHOLDER if placeholder(f"{name} {persona}") else ItemRule.FORM
        return ItemFault(rule, str(error).removeprefix(": "), draft.text)
    return role


def _wrong_language(text: str) -> ItemFault | None:
    letters = [letter for letter in text if letter.isalpha()]
    if not letters:
        return ItemFault(ItemRule.FORM, "is empty")
    latin = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return ItemFault(ItemRule.LANGUAGE, "is not in English") if latin < _LATIN_SHARE * len(letters) else None


def _wrong_form(text: str, kind: Kind) -> ItemFault | None:
    if len(text) > LONGEST:
        return ItemFault(ItemRule.FORM, f"is longer than {LONGEST} characters")
    if len(text.split()) < 3 or not _FORMS[kind].fullmatch(text):
        return ItemFault(ItemRule.FORM, f"is no {kind.replace('_', '/')} question: it must {_ASKED[kind]}")
    return None


def _wrong_options(options: tuple[str, ...], kind: Kind) -> ItemFault | None:
    if kind is not Kind.CHOICE:
        return None
    if len(options) < 2:
        return ItemFault(ItemRule.OPTIONS, f"has {len(options)} groups as options; it needs two to four")
    if len(options) > MOST_GROUPS:
        return ItemFault(ItemRule.OPTIONS, f"has {len(options)} groups as options; two to four are enough")
    if len(set(map(normalised, options))) < len(options):
        return ItemFault(ItemRule.OPTIONS, "has the same option twice")
    if long := [option for option in options if len(option) > _LONGEST_NAME or option.endswith("?")]:
        return ItemFault(ItemRule.OPTIONS, f"has the option {long[0]!r}, which is no short name of a group")
    return None


def _wrong_groups(text: str, options: tuple[str, ...], draft: Draft, kind: Kind) -> ItemFault | None:
    for part in (text, *options, *(draft.groups or ())):
        if unfilled := placeholder(part):
            return ItemFault(ItemRule.PLACEHOLDER, f"holds the placeholder {unfilled!r}; name a concrete group")
    if vague := next(filter(None, map(_VAGUE.search, (text, *options))), None):
        return ItemFault(ItemRule.GROUPS, f"says {vague.group()!r}; name concrete groups")
    groups = draft.groups or ()
    if draft.groups is not None and not groups and kind is not Kind.CHOICE:
        return ItemFault(ItemRule.GROUPS, 'names no group in "groups"')
    if kind is Kind.YES_NO and len(groups) > 1 and _offered(text, groups):
        return ItemFault(ItemRule.FORM, "offers a choice between groups; ask whether a claim about one of them holds")
    return None


def _offered(text: str, groups: tuple[str, ...]) -> bool:
    plain = f" {normalised(text)} "
    first, second = normalised(groups[0]), normalised(groups[1])
    return f" {first} or {second} " in plain or f" {second} or {first} " in plain


def _wrong_role(text: str, role: Role) -> ItemFault | None:
    if still_there(text, role.persona):
        return ItemFault(ItemRule.ROLE, f"tells the reader to be {role.persona}; leave the part out of the text")
    return None
