"""The labelling page on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from biaslens.annotation.folder import Label, parse_label
from biaslens.annotation.web.pages import BREAK_LABELS, BREAK_SECONDS, Pages
from biaslens.errors import BiasLensError, InputError
from biaslens.prompts import codebook

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
