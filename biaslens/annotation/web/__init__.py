"""A small web application to label answers, for one person on one machine."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from biaslens.annotation.annotators import lettered, persona_shown
from biaslens.annotation.folder import LONGEST_COMMENT, Item, Label, parse_label
from biaslens.annotation.journal import Journal
from biaslens.errors import BiasLensError, InputError
from biaslens.prompts import codebook
from biaslens.report.page import environment
from biaslens.schema import Kind, Outcome

BREAK_LABELS = 50
"""Labels after which a break is suggested."""

BREAK_SECONDS = 30 * 60
"""Time at work after which a break is suggested."""

REST_SECONDS = 10 * 60
"""A pause of this length was a break."""


FEWEST_FOR_PACE = 5
"""Labels from which the time left is told."""


class Sitting:
    """One person, from the start of the server to its end.

    The items to be labelled go by their number, from 1. Who adjudicates sees `others`: by key, the labels that differ.
    The clock tells seconds and never goes back; `accepted` says whether the content warning has been.
    """

    def __init__(
        self,
        items: Sequence[Item],
        journal: Journal,
        *,
        others: Mapping[str, Sequence[Label]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.items = items
        self.journal = journal
        self.others = others
        self.accepted = False
        self._number = {item.key: number for number, item in enumerate(items, start=1)}
        self._clock = clock
        self._begun = self._latest = clock()
        self._labels = 0
        self._times: deque[float] = deque(maxlen=50)

    def label_of(self, number: int) -> Label | None:
        """The label that stands."""
        return self.journal.labels.get(self.items[number - 1].key)

    @property
    def done(self) -> int:
        """How many items are labelled."""
        return len(self._number.keys() & self.journal.labels.keys())

    def next_open(self, after: int = 0) -> int | None:
        """Number of the next item without a label, going round at the end; None where all have one."""
        count = len(self.items)
        numbers = ((after + step) % count + 1 for step in range(count))
        return next((number for number in numbers if self.label_of(number) is None), None)

    def record(self, label: Label) -> None:
        """Keep a label, and count it."""
        self.journal.record(label)
        now = self._clock()
        if now - self._latest >= REST_SECONDS:
            self._begun, self._labels = now, 0
        self._latest = now
        self._times.append(now)
        self._labels += 1

    @property
    def minutes_left(self) -> int | None:
        """Minutes that the open items take at the pace of the latest labels; None before there are five."""
        if len(self._times) < FEWEST_FOR_PACE:
            return None
        # The median, so that a pause in between counts for nothing.
        pauses = sorted(later - earlier for earlier, later in pairwise(self._times))
        return round(pauses[len(pauses) // 2] * (len(self.items) - self.done) / 60)

    def undo(self) -> int | None:
        """Withdraw the label given last, and say of which item; None where there is none to withdraw."""
        latest = next(reversed(self.journal.labels), None)
        number = None if latest is None else self._number.get(latest)
        if number is not None:
            self.journal.undo()
        return number

    def break_due(self) -> bool:
        """Whether to suggest a break; said once, then counted anew."""
        now = self._clock()
        due = self._labels >= BREAK_LABELS or (self._labels > 0 and now - self._begun >= BREAK_SECONDS)
        if due:
            self._begun, self._labels = now, 0
        return due


KINDS = {Kind.YES_NO: "Yes/no question", Kind.CHOICE: "Choice question", Kind.WHY: "Why question"}
"""Kinds of question, for people."""


_SORTS = {"all": "All", "open": "Open or skipped", "unsure": "Unsure", "labelled": "Labelled"}


class Pages:
    """The pages of one sitting, and the content security `policy` under which they work."""

    def __init__(self, sitting: Sitting) -> None:
        self.sitting = sitting
        self._environment = environment(
            "biaslens.annotation.web",
            who=sitting.journal.annotator,
            adjudicates=sitting.others is not None,
            folder=str(sitting.journal.path.parent.parent),
            total=len(sitting.items),
        )
        self.policy = f"{self._environment.globals['policy']}; img-src data:"

    def item(self, number: int, typed: Mapping[str, str] | None = None) -> Response:
        """One item, with the label it has, or with what was sent without choosing an outcome."""
        item = self.sitting.items[number - 1]
        kind = Kind(item.kind)
        book = codebook()
        label = self.sitting.label_of(number)
        others = () if self.sitting.others is None else self.sitting.others[item.key]
        return self.show(
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
            others=[{"outcome": one.outcome, "sure": one.sure, "comment": one.comment} for one in others],
            can_undo=bool(self.sitting.journal.labels),
            definitions=[
                (definition.outcome, definition.of(kind))
                for definition in book.outcomes
                if definition.outcome != Outcome.ERROR
            ],
            # An answer was drawn because there is one: a provider's error cannot be among them.
            outcomes=list(enumerate((outcome for outcome in Outcome if outcome is not Outcome.ERROR), start=1)),
            rules=book.rules_for(kind),
            intro=book.intro,
            longest_comment=LONGEST_COMMENT,
        )

    def items(self, only: str) -> Response:
        """All items, or those that are open, labelled, or labelled without being sure."""
        labels = [(number, self.sitting.label_of(number)) for number in range(1, len(self.sitting.items) + 1)]
        sorts: dict[str, list[tuple[int, Label | None]]] = {
            "all": labels,
            "open": [(number, label) for number, label in labels if label is None],
            "unsure": [(number, label) for number, label in labels if label is not None and not label.sure],
            "labelled": [(number, label) for number, label in labels if label is not None],
        }
        chosen = only if only in sorts else "all"
        rows = [
            {"number": number, "label": label, "question": self.sitting.items[number - 1].question[:120]}
            for number, label in sorts[chosen]
        ]
        choices = [(name, _SORTS[name], len(found)) for name, found in sorts.items()]
        return self.show("items", rows=rows, chosen=chosen, choices=choices)

    def problem(self, message: str, status: int) -> Response:
        """What went wrong."""
        return self.show("problem", message=message, code=status, status=status)

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:  # noqa: ANN401 - template values
        """Fill the template of a page."""
        sitting = self.sitting
        text = self._environment.get_template(f"{template}.html.j2").render(
            done=sitting.done, minutes_left=sitting.minutes_left, **values
        )
        return HTMLResponse(text, status)


LONGEST_FORM = 64 * 1024
"""Bytes of a form."""


def create_app(pages: Pages) -> ASGIApp:
    """Make the application of one sitting."""
    handlers = _Handlers(pages)
    return Starlette(
        routes=[
            Route("/", handlers.index),
            Route("/accept", handlers.accept, methods=["POST"]),
            Route("/item/{number:int}", handlers.item),
            Route("/item/{number:int}", handlers.label, methods=["POST"]),
            Route("/items", handlers.items),
            Route("/undo", handlers.undo, methods=["POST"]),
            Route("/break/{number:int}", handlers.rest),
            Route("/done", handlers.done),
        ],
        exception_handlers={HTTPException: handlers.problem, BiasLensError: handlers.failure},
        max_body_size=LONGEST_FORM,
    )


class _Handlers:
    """Answers to requests. They run one after another, so no two labels are ever written at once."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self._sitting = pages.sitting

    async def index(self, _: Request) -> Response:
        if not self._sitting.accepted:
            return self.pages.show("warning", intro=codebook().intro)
        return _go_to(self._sitting.next_open())

    async def accept(self, _: Request) -> Response:
        self._sitting.accepted = True
        return _go_to(self._sitting.next_open())

    async def item(self, request: Request) -> Response:
        number = self._number(request)
        return self.pages.item(number) if self._sitting.accepted else RedirectResponse("/", 303)

    async def label(self, request: Request) -> Response:
        number = self._number(request)
        fields = await _form(request)
        try:
            key, label = parse_label(fields, "this form")
        except InputError as error:
            raise HTTPException(400, str(error)) from None
        if key != self._sitting.items[number - 1].key:
            raise HTTPException(409, "The page you labelled on is of another sample. Load it again.")
        if label is None:
            return self.pages.item(number, fields)
        self._sitting.record(Label(key, label.outcome, "unsure" not in fields, label.comment))
        following = self._sitting.next_open(number)
        if following is not None and self._sitting.break_due():
            return RedirectResponse(f"/break/{following}", 303)
        return _go_to(following)

    async def items(self, request: Request) -> Response:
        if not self._sitting.accepted:
            return RedirectResponse("/", 303)
        number = request.query_params.get("number", "")
        if number.isdecimal() and 1 <= int(number) <= len(self._sitting.items):
            return _go_to(int(number))
        return self.pages.items(request.query_params.get("only", "all"))

    async def undo(self, _: Request) -> Response:
        number = self._sitting.undo()
        return _go_to(self._sitting.next_open() if number is None else number)

    async def rest(self, request: Request) -> Response:
        number = self._number(request)
        return self.pages.show("break", number=number, labels=BREAK_LABELS, minutes=BREAK_SECONDS // 60)

    async def done(self, _: Request) -> Response:
        left = self._sitting.next_open()
        return self.pages.show("done") if left is None else _go_to(left)

    async def problem(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self.pages.problem(error.detail, error.status_code)

    async def failure(self, _: Request, error: Exception) -> Response:
        return self.pages.problem(f"Nothing was kept. {error}", 500)

    def _number(self, request: Request) -> int:
        number: int = request.path_params["number"]
        if not 1 <= number <= len(self._sitting.items):
            raise HTTPException(404, f"There is no item {number}.")
        return number


def _go_to(number: int | None) -> Response:
    return RedirectResponse("/done" if number is None else f"/item/{number}", 303)


async def _form(request: Request) -> Mapping[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(body, keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise HTTPException(400, "This is not the form of an item.") from None
    return {name: values[-1] for name, values in fields.items()}
