"""The pages: one item at a time, a form that works without scripts, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from biaslens.annotation.label import Label, parse_label
from biaslens.annotation.web.guard import Guard
from biaslens.annotation.web.pages import Pages
from biaslens.annotation.web.sitting import Sitting
from biaslens.errors import BiasLensError, InputError

LONGEST_FORM = 64 * 1024
"""Bytes of a form."""


def create_app(sitting: Sitting, *, token: str, name: str) -> ASGIApp:
    """Make the application of one sitting.

    Parameters
    ----------
    sitting
        Who labels what.
    token
        The secret without which nothing is answered.
    name
        Tells this server from others on the machine: its port.
    """
    cookie = f"biaslens_{name}"
    handlers = _Handlers(sitting, token=token, cookie=cookie)
    app = Starlette(
        routes=[
            Route("/", handlers.index),
            Route("/accept", handlers.accept, methods=["POST"]),
            Route("/item/{number:int}", handlers.item),
            Route("/item/{number:int}", handlers.label, methods=["POST"]),
            Route("/undo", handlers.undo, methods=["POST"]),
            Route("/break/{number:int}", handlers.rest),
            Route("/done", handlers.done),
        ],
        exception_handlers={HTTPException: handlers.problem, BiasLensError: handlers.failure},
        max_body_size=LONGEST_FORM,
    )
    return Guard(app, token=token, cookie=cookie, policy=handlers.pages.policy)


class _Handlers:
    """Answers to requests. They run one after another, so no two labels are ever written at once."""

    def __init__(self, sitting: Sitting, *, token: str, cookie: str) -> None:
        self.pages = Pages(sitting)
        self._sitting = sitting
        self._token = token
        self._cookie = cookie

    async def index(self, request: Request) -> Response:
        if "token" in request.query_params:
            # A page, not a redirect: where a link on a foreign page led here, browsers keep a strict cookie back from
            # the redirect. The page goes on by itself, and the token leaves the address.
            response = self.pages.enter()
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return response
        if not self._sitting.accepted:
            return self.pages.warning()
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

    async def undo(self, _: Request) -> Response:
        number = self._sitting.undo()
        return _go_to(self._sitting.next_open() if number is None else number)

    async def rest(self, request: Request) -> Response:
        return self.pages.rest(self._number(request))

    async def done(self, _: Request) -> Response:
        left = self._sitting.next_open()
        return self.pages.done() if left is None else _go_to(left)

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
