"""Identity sentences: templates of Czarnowska, Vyas and Shah (TACL 2021) filled with identity terms.

The same template stands with every term of every group, so a difference between groups is not a difference between
topics. What ships, from where and under which licence is said in ``data/README.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biaslens.errors import InputError
from biaslens.probe.slots import Part, Slot, slot_of, without_identity, words_for

COLUMNS = ("text", "label", "attribute", "group", "term", "template", "marked")
"""Of the table that `expand` gives."""

UNMARKED = "unmarked"
"""The group of the sentences that name no identity."""

DATA = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with a slot; `id` is the same for every group, `label` 0 negative, 1 neutral, 2 positive."""

    id: str
    label: int
    slot: Slot
    unmarked: str | None


class Term(NamedTuple):
    """A word or phrase that names a group."""

    text: str
    part: Part
    group: str


class _Shipped(NamedTuple):
    templates: Sequence[str]
    terms: str
    parts: Sequence[Part]


_WORDS = (Part.ADJECTIVE, Part.NOUN)
SHIPPED: Mapping[str, _Shipped] = {
    "age": _Shipped(("generic", "age"), "age", (Part.ADJECTIVE,)),
    "sexuality": _Shipped(("generic", "gender_sexuality"), "sexuality", _WORDS),
    "disability": _Shipped(("generic_adj_or_pp", "disability"), "disability", (*_WORDS, Part.PHRASE)),
    "gender": _Shipped(("generic", "gender_sexuality"), "gender", _WORDS),
    "race": _Shipped(("generic", "ethnicity"), "race", (Part.ADJECTIVE,)),
    "religion": _Shipped(("generic", "religion"), "religion", (*_WORDS, Part.RELIGION)),
}
"""What ships: by attribute its templates, its terms, and the parts of speech that are used (of age only adjectives)."""


def expand(
    attributes: Sequence[str] = ("age", "sexuality", "disability"),
    *,
    templates: Path | None = None,
    terms: Path | None = None,
    unmarked: bool = True,
) -> pd.DataFrame:
    """Fill every template with every term that fits.

    Parameters
    ----------
    attributes
        Which ones: age, sexuality, disability, gender, race, religion, or any that `terms` has.
    templates
        A CSV file of one's own in place of the shipped templates: columns TEMPLATE and SENT (0 negative, 1 neutral,
        2 positive), and perhaps UNMARKED, the sentence without an identity (empty: it has none).
    terms
        A CSV file of one's own in place of the shipped terms: columns TERM and GROUP, and perhaps POS (adj, n or pp;
        adj where it is left out), TYPE (nonrec: not used) and ATTRIBUTE (needed for more than one attribute).
    unmarked
        Whether the same templates without an identity are added, as group "unmarked" of each attribute.

    Returns
    -------
    DataFrame
        Columns text, label (0, 1, 2), attribute, group, term, template (the same id over all groups), marked (False for
        the unmarked sentences). The same text may stand twice (as adjective and as noun), as in the authors' file.

    Raises
    ------
    InputError
        When an attribute is unknown, a file is missing or malformed, or a template has an unknown slot.
    """
    if isinstance(attributes, str):
        attributes = (attributes,)
    own = None if terms is None else _own_terms(terms, attributes)
    known = list(SHIPPED) if own is None else list(own)
    unknown = [name for name in attributes if name not in known]
    if unknown or not attributes:
        what = f"unknown attribute {', '.join(map(repr, unknown))}" if unknown else "no attribute given"
        raise InputError(f"{what}; there are: {', '.join(known)}")
    rows: list[tuple[object, ...]] = []
    for attribute in dict.fromkeys(attributes):
        found = _shipped_terms(attribute) if own is None else own[attribute]
        rows += _rows(attribute, _templates_of(attribute, templates, found), found, with_unmarked=unmarked)
    if not rows:
        raise InputError(f"no term of {terms or 'the shipped lists'} fits a slot of {templates or 'the templates'}")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def group_sizes(sentences: pd.DataFrame) -> pd.DataFrame:
    """Count what each group rests on.

    Returns
    -------
    DataFrame
        attribute, group, sentences, terms, templates, note. The note says where a group has one term (it cannot be told
        from the group) or one sentence; both are kept. Nothing is said of the unmarked sentences.
    """
    counted = sentences.groupby(["attribute", "group"], sort=False).agg(
        sentences=("text", "size"), terms=("term", "nunique"), templates=("template", "nunique")
    )
    counted = counted.reset_index()
    counted["note"] = [
        size_note(sentences, terms, group)
        for sentences, terms, group in zip(counted["sentences"], counted["terms"], counted["group"], strict=True)
    ]
    return counted


def size_note(sentences: int, terms: int, group: str) -> str:
    """Say what a small group cannot show; empty where nothing is to say."""
    if group == UNMARKED:
        return ""
    if sentences == 1:
        return "one sentence"
    return "one term: it cannot be told from the group" if terms == 1 else ""


def _rows(
    attribute: str, templates: Sequence[Template], terms: Sequence[Term], *, with_unmarked: bool
) -> Iterator[tuple[object, ...]]:
    used = set()
    for template in templates:
        for term in terms:
            words = words_for(template.slot, term.text, term.part)
            if words is not None:
                used.add(template.id)
                text = template.slot.filled(words)
                yield text, template.label, attribute, term.group, term.text, template.id, True
    if with_unmarked:
        for template in templates:
            if template.unmarked is not None and template.id in used:
                yield template.unmarked, template.label, attribute, UNMARKED, "", template.id, False


def _templates_of(attribute: str, own: Path | None, terms: Sequence[Term]) -> list[Template]:
    if own is not None:
        return _read_templates(own)
    if attribute in SHIPPED:
        names = SHIPPED[attribute].templates
    else:
        names = ("generic_adj_or_pp" if any(term.part is Part.PHRASE for term in terms) else "generic",)
    return [template for name in names for template in _read_templates(DATA / "templates" / f"{name}.csv")]


def _read_templates(path: Path) -> list[Template]:
    table = _read(path, ("TEMPLATE", "SENT"))
    found = []
    for number, row in enumerate(table.to_dict("records"), start=1):
        text, label = str(row["TEMPLATE"]).strip(), str(row["SENT"]).strip()
        if label not in ("0", "1", "2"):
            raise InputError(f"{path}: template {number} has SENT {label!r}; write 0 negative, 1 neutral or 2 positive")
        try:
            slot = slot_of(text)
        except ValueError as error:
            raise InputError(f"{path}: template {number} ({text!r}) {error}") from None
        plain = (str(row["UNMARKED"]).strip() or None) if "UNMARKED" in table.columns else without_identity(slot)
        found.append(Template(f"{path.stem}-{number:02d}", int(label), slot, plain))
    return found


def _shipped_terms(attribute: str) -> list[Term]:
    shipped = SHIPPED[attribute]
    table = _read(DATA / "terms" / f"{shipped.terms}.csv", ("TERM", "GROUP"))
    return [term for term in _terms(table) if term.part in shipped.parts]


def _own_terms(path: Path, attributes: Sequence[str]) -> dict[str, list[Term]]:
    table = _read(path, ("TERM", "GROUP"))
    if "ATTRIBUTE" not in table.columns:
        if len(set(attributes)) != 1:
            raise InputError(
                f"{path}: no column ATTRIBUTE, so its terms cannot be shared out among {', '.join(attributes)}; "
                "add it, or give one attribute"
            )
        table["ATTRIBUTE"] = attributes[0]
    try:
        found = {str(name): list(_terms(rows)) for name, rows in table.groupby("ATTRIBUTE", sort=False)}
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    if not found:
        raise InputError(f"{path}: the file has no terms")
    return found


def _terms(table: pd.DataFrame) -> Iterator[Term]:
    for row in table.to_dict("records"):
        text, group = str(row["TERM"]).strip(), str(row["GROUP"]).strip()
        part = str(row.get("SEM") if row.get("SEM") == Part.RELIGION else row.get("POS", Part.ADJECTIVE)).strip()
        if not text or not group or not part or row.get("TYPE") == "nonrec":
            continue  # the lists hold terms that were never sorted into a group, or are not recommended
        if part not in tuple(Part):
            raise ValueError(f"term {text!r} has POS {part!r}; write adj, n or pp")
        yield Term(text, Part(part), group.lower().replace(" ", "-"))


def _read(path: Path, needed: Sequence[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read as a CSV file ({reason})") from None
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise InputError(f"{path}: no column {' and '.join(missing)}; it has {', '.join(map(str, table.columns))}")
    return table
