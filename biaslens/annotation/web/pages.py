"""Fill the templates."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from biaslens import codebook
from biaslens.annotation.exchange import lettered, persona_shown
from biaslens.annotation.folder import Item
from biaslens.annotation.label import LONGEST_COMMENT
from biaslens.annotation.web.sitting import BREAK_LABELS, BREAK_SECONDS, Sitting
from biaslens.annotation.web.text import visible
from biaslens.schema import Kind, Outcome

KINDS = {Kind.YES_NO: "Yes/no question", Kind.CHOICE: "Choice question", Kind.WHY: "Why question"}
"""Kinds of question, for people."""


class Pages:
    """The pages of one sitting.

    Attributes
    ----------
    policy
        Content security policy under which they work: their own style and script, and nothing else.
    """

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        self._environment = Environment(
            loader=PackageLoader("biaslens.annotation.web", "."),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        loader = self._environment.loader
        assert loader is not None
        style, script = (loader.get_source(self._environment, name)[0] for name in ("style.css", "script.js"))
        self.policy = (
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
            "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        )
        self._environment.filters["visible"] = visible
        self._environment.globals |= {
            "style": Markup(style),  # noqa: S704 - our own file
            "script": Markup(script),  # noqa: S704
            "who": sitting.journal.annotator,
            "settles": sitting.others is not None,
            "total": len(sitting.items),
        }

    def enter(self) -> Response:
        """The first answer to a browser that has the token."""
        return self._page("enter")

    def warning(self) -> Response:
        """What to know before the first item."""
        return self._page("warning", intro=codebook.load().intro)

    def item(self, number: int, typed: Mapping[str, str] | None = None) -> Response:
        """One item, with the label it has, or with what was sent without choosing an outcome."""
        item = self._sitting.items[number - 1]
        kind = Kind(item.kind)
        book = codebook.load()
        label = self._sitting.label_of(number)
        return self._page(
            "item",
            status=200 if typed is None else 400,
            typed=typed is not None,
            comment=typed.get("comment", "") if typed else label.comment if label else "",
            unsure="unsure" in typed if typed else label is not None and not label.sure,
            number=number,
            item=item,
            kind=KINDS[kind],
            persona=persona_shown(item),
            options=lettered(item.options),
            label=label,
            others=self._others(item),
            can_undo=bool(self._sitting.journal.labels),
            definitions=[(definition.outcome, definition.of(kind)) for definition in book.outcomes],
            outcomes=list(enumerate(Outcome, start=1)),
            rules=book.rules_for(kind),
            intro=book.intro,
            longest_comment=LONGEST_COMMENT,
        )

    def rest(self, number: int) -> Response:
        """A suggestion to take a break before an item."""
        return self._page("break", number=number, labels=BREAK_LABELS, minutes=BREAK_SECONDS // 60)

    def done(self) -> Response:
        """Nothing is left."""
        return self._page("done")

    def problem(self, message: str, status: int) -> Response:
        """What went wrong."""
        return self._page("problem", message=message, code=status, status=status)

    def _others(self, item: Item) -> list[dict[str, Any]]:
        labels = () if self._sitting.others is None else self._sitting.others[item.key]
        return [{"outcome": label.outcome, "sure": label.sure, "comment": label.comment} for label in labels]

    def _page(self, template: str, *, status: int = 200, **values: Any) -> Response:  # noqa: ANN401 - template values
        text = self._environment.get_template(f"{template}.html.j2").render(done=self._sitting.done, **values)
        return HTMLResponse(text, status)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
