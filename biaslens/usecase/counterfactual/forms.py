"""What takes the place of one mention, and what changes beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from biaslens.usecase.counterfactual.agreement import agree
from biaslens.usecase.counterfactual.case import cased
from biaslens.usecase.counterfactual.edits import Edit
from biaslens.usecase.counterfactual.hits import Hit
from biaslens.usecase.counterfactual.marked import Marked
from biaslens.usecase.counterfactual.pronouns import decide
from biaslens.usecase.words import AttributeWords, Row
from biaslens.usecase.words.spoken import Spoken

_BEGINS = re.compile(r"(?:^|[.!?:\n]|[\"“])[\s\"'“‘(*\-]*$")
_POSSESSIVE = re.compile(r"['’](s?)(?!\w)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_PRONOUNS = frozenset({"subject", "object", "determiner", "possessive", "reflexive"})


@dataclass(frozen=True, slots=True)
class Setting:
    """A text in which the words of an attribute are set to a group."""

    spoken: Spoken
    marked: Marked
    attribute: AttributeWords
    group: str


def replaced(hit: Hit, setting: Setting, notes: list[str]) -> list[Edit]:
    """Edits for one mention of another group, its own first; what is uncertain or impossible is added to `notes`."""
    text = setting.spoken.text
    before = text[hit.start : hit.end]
    row = _row(hit, before, setting, notes)
    form = row.written.get(setting.group)
    if form is None:
        notes.append(f'"{before}" has no form for {setting.group}')
        return []
    if form == "":
        if _hyphenated(text, hit.start, hit.end):
            notes.append(f'"{before}" cannot be dropped beside a hyphen')
            return []
        return [_dropped(text, hit.start, hit.end)]
    listed = _listed(row.recognised.get(hit.group, ()), before)
    start = begin_of(text, hit)
    written = cased(form, before, listed, begins=_begins(text, hit.start))
    edits = [Edit(start, hit.end, written, text[start : hit.end], "word")]
    if row.kind in {"plural", "things"}:
        edits += _possessive(text, hit.start, hit.end, form)
    if row.kind == "subject" and setting.group == setting.attribute.neutral:
        edits += _agreeing(setting.spoken, setting.marked, hit.place)
    return edits


def _row(hit: Hit, before: str, setting: Setting, notes: list[str]) -> Row:
    row = hit.reading.row
    if row.kind not in _PRONOUNS or before.lower() not in {"her", "his"}:
        return row
    decision = decide(setting.marked.words, setting.marked.spelled, hit.place)
    if not decision.sure:
        notes.append(f'"{before}" may be read in two ways')
    kind = "determiner" if decision.determiner else ("object" if before.lower() == "her" else "possessive")
    return next((other for other in setting.attribute.rows if other.kind == kind), row)


def begin_of(text: str, hit: Hit) -> int:
    """Where a mention begins; "s/he" and "(s)he" do before the "he"."""
    if hit.reading.row.kind == "subject":
        for written in ("(s)", "s/"):
            begin = hit.start - len(written)
            if (
                begin >= 0
                and text[begin : hit.start].lower() == written
                and not text[max(0, begin - 1) : begin].isalnum()
            ):
                return begin
    return hit.start


def titled(text: str, hit: Hit) -> bool:
    """Whether a text writes an adjective with a capital that the list writes without: "a Black man"."""
    before = text[hit.start : hit.end]
    if hit.reading.row.kind != "adjective" or not before[0].isupper() or before.isupper():
        return False
    listed = _listed(hit.reading.row.recognised.get(hit.group, ()), before)
    return listed[:1].islower() and not _begins(text, hit.start)


def _begins(text: str, start: int) -> bool:
    """Whether a sentence or a quotation begins there."""
    return bool(_BEGINS.search(text[max(0, start - 20) : start]))


def _possessive(text: str, start: int, end: int, form: str) -> list[Edit]:
    """The ending of a possessive: "men's" and "boys'"."""
    after = _POSSESSIVE.match(text, end)
    if after is None:
        return []
    if after[1] and form.endswith("s"):
        return [Edit(after.start(1), after.end(1), "", after[1], "ending")]
    bare = not after[1] and text[start:end].lower().endswith("s") and not form.endswith("s")
    if not bare or text[max(0, start - 1) : start] in {"'", "‘"}:
        return []
    return [Edit(after.end(), after.end(), "S" if text[start:end].isupper() else "s", "", "ending")]


def _listed(forms: Iterable[str], before: str) -> str:
    plain = re.sub(r"[\W_]+", " ", before).casefold()
    for form in forms:
        if re.sub(r"[\W_]+", " ", form).casefold() == plain:
            return form
    return before.lower()


def _hyphenated(text: str, start: int, end: int) -> bool:
    return text[end : end + 1] == "-" or text[max(0, start - 1) : start] == "-"


def _dropped(text: str, start: int, end: int) -> Edit:
    space = _SPACE.match(text, end)
    until = space.end() if space else end
    if text[start].isupper() and _begins(text, start) and until < len(text):
        return Edit(start, until + 1, text[until].upper(), text[start:end], "dropped")
    return Edit(start, until, "", text[start:end], "dropped")


def _agreeing(spoken: Spoken, marked: Marked, place: int) -> list[Edit]:
    edits = []
    for verb, form in agree(marked.words, marked.spelled, place):
        start, end = spoken.spans[marked.origin[verb]]
        before = spoken.text[start:end]
        if form.startswith("'"):
            start -= 1
            apostrophe = spoken.text[start]
            asks = marked.words[verb - 1] in {"what", "where", "how", "who", "when", "why"}
            written = " are" if asks else apostrophe + form.removeprefix("'")
            edits.append(Edit(start, end, written.upper() if before.isupper() else written, before, "verb"))
            continue
        edits.append(Edit(start, end, cased(form, before, before.lower(), begins=False), before, "verb"))
    return edits
