"""A language model as scorer: asked for a number and a reason."""

from __future__ import annotations

import json

from biaslens.models import JsonSchema, Message, Params, StructuredParams, provider_of
from biaslens.prompts import render, template_hash
from biaslens.schema import content_hash
from biaslens.usecase.scorers.base import Kind
from biaslens.usecase.scorers.reading import read_percent

LONGEST = 12_000
"""Characters of a text that a judge gets to read; the rest of a longer one is cut off."""

_REPLY = JsonSchema(
    "score",
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "score": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["reason", "score"],
        "additionalProperties": False,
    },
)


class JudgeScorer:
    """A model that rates each text from 0 to 100 by ``prompts/score_KIND.j2``; its number is divided by 100.

    The text is quoted on one line as a JSON string, as data. A reply without a usable number is NaN. How good the
    numbers are hangs on the model: measure it on texts of your own before relying on it.

    Parameters
    ----------
    kind
        What to rate.
    model
        PROVIDER/MODEL.

    Raises
    ------
    UnknownModelError
        When no provider goes by this name.
    """

    languages: tuple[str, ...] | None = None

    def __init__(self, kind: Kind, model: str) -> None:
        provider_of(model)
        self.kind = kind
        self.model = model
        self.params: Params = StructuredParams(max_tokens=200, schema=_REPLY)
        self.name = f"judge {model}"
        self.identity = content_hash("judge", kind, model, template_hash(f"score_{kind}"), LONGEST)
        self.note = f"A language model's rating; it reads the first {LONGEST:,} characters of a text."

    def messages(self, text: str) -> tuple[Message, ...]:
        """What the judge is asked."""
        return (Message("user", render(f"score_{self.kind}", text=_quoted(text[:LONGEST]))),)

    def read(self, reply: str) -> float:
        """Read its number; see `read_percent`."""
        return read_percent(reply)


def _quoted(text: str) -> str:
    """A JSON string on one line: characters that print nothing, or turn the text, stand escaped."""
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1]
        for character in json.dumps(text, ensure_ascii=False)
    )
