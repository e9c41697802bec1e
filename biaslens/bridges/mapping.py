"""Which fields of another task's samples say what biaslens needs to know of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biaslens.benchmark.files import read_toml
from biaslens.errors import InputError
from biaslens.schema import Kind, Verdict

_NEEDED = ("kind", "attribute", "role")
_OPTIONAL = {
    "question": "$input",
    "options": "$choices",
    "abstain": None,
    "persona": None,
    "condition": "no_role",
    "target": None,
    "groups": None,
    "encounter": None,
    "stereotype": None,
}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping: by name, a value for all samples, or "$" and a path to a field of each, such as "$metadata.group"."""

    path: Path
    values: Mapping[str, Any]

    def told(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """What a sample says, as `question_of` reads it; `order` are the positions of the options as shown.

        Raises `InputError` when it lacks a field, or the abstaining option is not among the options.
        """
        told = {name: self._value(name, sample) for name in self.values}
        told["persona"] = told["persona"] or told["role"]
        options = list(map(str, told["options"] or ())) if told["kind"] == Kind.CHOICE else []
        order = None
        if options:
            place = _place(told["abstain"], options)
            if place != len(options) - 1:
                order = [*range(place), len(options) - 1, *range(place, len(options) - 1)]
            options = [*options[:place], *options[place + 1 :], options[place]]
        return told | {"options": options, "option_order": order}

    def _value(self, name: str, sample: Mapping[str, Any]) -> Any:  # noqa: ANN401
        value = self.values[name]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        found: Any = sample
        for part in value[1:].split("."):
            if not isinstance(found, Mapping) or part not in found:
                if value == _OPTIONAL.get(name):
                    return None
                raise InputError(f"it has no field {value[1:]}, which {self.path.name} names as {name}")
            found = found[part]
        return question_text(found) if value == "$input" else found


def read_mapping(path: Path) -> Mapped:
    """Read a mapping, a TOML file: kind, attribute and role must be there.

    Raises `BenchmarkError` when it cannot be read; `InputError` when it has another name in it, or one is missing.
    """
    given = read_toml(path)
    unknown = sorted(given.keys() - {*_NEEDED, *_OPTIONAL})
    missing = [name for name in _NEEDED if name not in given]
    if unknown or missing:
        wrong = f"{unknown[0]!r} is no part of a mapping" if unknown else f"{missing[0]} is missing"
        raise InputError(f"{path}: {wrong}; it names {', '.join(_NEEDED)}, and may name {', '.join(_OPTIONAL)}")
    return Mapped(path, {**_OPTIONAL, **given})


def question_text(found: Any) -> str:  # noqa: ANN401
    """Text of what was asked: the input itself, or its last message of the user."""
    if isinstance(found, str):
        return found
    asked = [message["content"] for message in found if message.get("role") == "user"]
    if not asked:
        raise InputError("its input has no message of the user")
    return said(asked[-1])


def said(content: Any) -> str:  # noqa: ANN401
    """Text of a message's content, which may come in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return str(content or "")


def read_elsewhere(letter: object, order: list[int]) -> Verdict | None:
    """Verdict of a choice that another scorer read as a letter of the options as shown; None for no such letter."""
    from biaslens.oracles import choice

    text = str(letter or "").strip().strip("()").upper()
    place = ord(text) - ord("A") if len(text) == 1 else -1
    if not 0 <= place < len(order):
        return None
    taken = order[place]
    return choice.decide(chr(ord("A") + taken), [f"option {number}" for number in range(len(order))])


def _place(abstain: object, options: list[str]) -> int:
    """Position of the abstaining option: given as a position, a letter or its text; the last one without."""
    if abstain is None:
        return len(options) - 1
    text = str(abstain).strip()
    if text in options:
        return options.index(text)
    if len(text) == 1 and text.isalpha():
        text = str(ord(text.upper()) - ord("A"))
    if not text.isdecimal() or int(text) >= len(options):
        raise InputError(f"its abstaining option {abstain!r} is none of {len(options)} options")
    return int(text)
