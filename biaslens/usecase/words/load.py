"""Word lists from TOML files: those of the package, and the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeGuard

from biaslens.errors import InputError
from biaslens.usecase.words.context import RULES
from biaslens.usecase.words.lexicon import Lexicon
from biaslens.usecase.words.model import AttributeWords, Context, Row, phrase
from biaslens.usecase.words.numbers import number_rows

ATTRIBUTES = (
    "gender",
    "race",
    "religion",
    "age",
    "sexual_orientation",
    "disability",
    "nationality",
    "socioeconomic_status",
)
"""The attributes whose words ship with the package, in the order in which they are looked for."""

DATA = Path(__file__).with_name("data")


def load_words(attributes: Sequence[str] | None = None, *, own: Sequence[Path] = (), names: bool = False) -> Lexicon:
    """Read word lists.

    Parameters
    ----------
    attributes
        Which ones; None for all, those of the user's own files included. A user's own file adds to an attribute of
        its name, or makes a new one.
    own
        Files of the user's own, in the format of those in ``words/data``.
    names
        Whether given names count as words of gender and race, too.

    Raises
    ------
    InputError
        When an attribute is unknown, or a file is missing or malformed.
    """
    extra = [_read(path) for path in own]
    known = list(dict.fromkeys([*ATTRIBUTES, *(found.name for found in extra)]))
    wanted = known if attributes is None else list(dict.fromkeys(attributes))
    for name in wanted:
        if name not in known:
            raise InputError(f"no word list for attribute {name!r}; there are: {', '.join(known)}")
    if not wanted:
        raise InputError(f"no attribute given; there are: {', '.join(known)}")
    chosen: dict[str, AttributeWords] = {}
    for name in known:
        if name not in wanted:
            continue
        parts = [shipped(name)] if name in ATTRIBUTES else []
        parts += [found for found in extra if found.name == name]
        if names:
            parts += [found for found in _names() if found.name == name]
        words = parts[0]
        for part in parts[1:]:
            words = _joined(words, part)
        chosen[name] = words
    return Lexicon(chosen)


@cache
def shipped(name: str) -> AttributeWords:
    """The package's words of one attribute."""
    return _read(DATA / f"{name}.toml")


def _read(path: Path) -> AttributeWords:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error
    return parse_words(table, str(path))


def parse_words(table: Mapping[str, Any], where: str) -> AttributeWords:
    """Make the words of an attribute from the content of a file.

    Raises
    ------
    InputError
        Naming the file and what is wrong in it.
    """
    unknown = table.keys() - {"attribute", "groups", "compared", "neutral", "source", "words", "context", "ages"}
    if unknown:
        raise InputError(f"{where}: unknown entry {sorted(unknown)[0]!r}")
    name, groups = table.get("attribute"), table.get("groups")
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f'{where}: needs attribute = "NAME" (letters, digits and underscores)')
    if not _are_texts(groups) or len(set(groups)) != len(groups) or not groups:
        raise InputError(f"{where}: needs groups = [...], a list of different names")
    compared = table.get("compared", groups[:4])
    neutral, source = table.get("neutral"), table.get("source", "given by the user")
    if not _are_texts(compared) or set(compared) - set(groups):
        raise InputError(f"{where}: compared has to be a list of some of the groups {', '.join(groups)}")
    if neutral is not None and neutral not in groups:
        raise InputError(f"{where}: neutral has to be one of the groups {', '.join(groups)}")
    if not isinstance(source, str) or not isinstance(table.get("words"), dict):
        raise InputError(f"{where}: needs a [words] table and a source in text")
    rows = [
        _row(kind, cells, groups, f"{where}, {kind} {number}")
        for kind, listed in table["words"].items()
        for number, cells in enumerate(_rows(listed, f"{where}, {kind}"), start=1)
    ]
    rows += number_rows(table.get("ages", {}), where)
    context = {
        phrase(word): _context(rule, f"{where}, context of {word!r}") for word, rule in table.get("context", {}).items()
    }
    return AttributeWords(name, tuple(groups), tuple(compared), neutral, source, tuple(rows), context)


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _rows(listed: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise InputError(f'{where}: has to be a list of rows such as {{ female = "woman", male = "man" }}')
    return listed


def _row(kind: str, cells: Mapping[str, Any], groups: Sequence[str], where: str) -> Row:
    needs = cells.get("needs", "")
    if needs and needs not in RULES:
        raise InputError(f"{where}: unknown rule {needs!r}; there are: {', '.join(RULES)}")
    recognised: dict[str, tuple[str, ...]] = {}
    written: dict[str, str] = {}
    for group, cell in cells.items():
        if group == "needs":
            continue
        forms = [cell] if isinstance(cell, str) else cell
        if group not in groups or not _are_texts(forms) or not forms:
            raise InputError(f"{where}: {group!r} has to be one of the groups, with a form or a list of forms")
        recognised[group] = tuple(form for form in forms if not form.startswith("="))
        written[group] = forms[0].removeprefix("=")
        if any(not phrase(form) for form in recognised[group]):
            raise InputError(f"{where}: a form of {group!r} has no letters")
    return Row(kind, needs, recognised, written)


def _context(rule: object, where: str) -> Context:
    if not isinstance(rule, dict) or rule.keys() - {"needs", "also", "after", "not_before", "not_after"}:
        raise InputError(f"{where}: has to be a table of needs, also, after, not_before and not_after")
    needs = rule.get("needs", "")
    if needs and needs not in RULES:
        raise InputError(f"{where}: unknown rule {needs!r}; there are: {', '.join(RULES)}")
    lists = {key: rule.get(key, []) for key in ("also", "after", "not_before", "not_after")}
    for key, words in lists.items():
        if not _are_texts(words):
            raise InputError(f"{where}: {key} has to be a list of words")
    return Context(needs, **{key: frozenset(words) for key, words in lists.items()})


def _joined(words: AttributeWords, more: AttributeWords) -> AttributeWords:
    return AttributeWords(
        words.name,
        tuple(dict.fromkeys(words.groups + more.groups)),
        words.compared,
        words.neutral or more.neutral,
        f"{words.source} {more.source}",
        words.rows + more.rows,
        {**words.context, **more.context},
    )


@cache
def _names() -> tuple[AttributeWords, ...]:
    table = tomllib.loads((DATA / "names.toml").read_text(encoding="utf-8"))
    return tuple(_named(name, lists) for name, lists in table.items())


def _named(attribute: str, lists: Mapping[str, Any]) -> AttributeWords:
    groups = tuple(key for key in lists if key not in {"source", "neutral"})
    size = len(lists[groups[0]])
    rows = []
    neutral = list(islice(cycle(lists["neutral"]), size)) if "neutral" in lists else []
    for place, forms in enumerate(zip(*(lists[group] for group in groups), strict=True)):
        written = dict(zip(groups, forms, strict=True))
        recognised = {group: (form,) for group, form in written.items()}
        if neutral:
            written["neutral"] = neutral[place]
        rows.append(Row("name", "", recognised, written))
    return AttributeWords(attribute, groups, groups, "neutral" if neutral else None, lists["source"], tuple(rows))
