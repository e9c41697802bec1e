"""The labelling page on this machine."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from biaslens.annotation.folder import Label, parse_label
from biaslens.annotation.web.pages import BREAK_LABELS, BREAK_SECONDS, Pages, Sitting
from biaslens.errors import BiasLensError, InputError
from biaslens.prompts import codebook

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)


class Guard:
    """Refuse foreign requests with 403, and send the headers that keep a page to itself.

    - Without the token, in the address of the first request and in a cookie from then on, nothing is answered.
    - The header Host must name this machine: a foreign name that was made to point here (DNS rebinding) is refused.
    - What changes anything (POST) must come from a page of the same origin.

    Cookies are shared by all ports of a machine, so the name of the cookie must differ between servers.
    """

    def __init__(self, app: ASGIApp, *, token: str, cookie: str, policy: str) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie
        self._headers = {
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            # Not "no-referrer": browsers then send "Origin: null" with our own forms. Nothing is sent to others.
            "Referrer-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        app = self._app if self._allowed(Request(scope)) else _FORBIDDEN
        await app(scope, receive, send_with_headers)

    def _allowed(self, request: Request) -> bool:
        host = request.headers.get("host", "")
        if _HOST.fullmatch(host) is None:
            return False
        if request.method == "POST" and request.headers.get("origin") != f"http://{host}":
            return False
        entering = request.method == "GET" and request.url.path == "/"
        given = request.query_params.get("token") if entering else None
        return self._is_token(request.cookies.get(self._cookie)) or self._is_token(given)

    def _is_token(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


_FORBIDDEN = PlainTextResponse(
    "Not allowed. Open the address that `biaslens annotate` printed, with its token, in this browser.\n", 403
)

LONGEST_FORM = 64 * 1024
"""Bytes of a form."""


def create_app(sitting: Sitting, *, token: str, name: str) -> ASGIApp:
    """Make the application of one sitting; its `name`, the port, tells this server from others on the machine."""
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
            response = self.pages.show("enter")
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return response
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


HOST = "127.0.0.1"


def serve(sitting: Sitting, *, port: int, open_browser: bool, tell: Callable[[str], None]) -> None:
    """Serve one sitting until interrupted, at any free port where `port` is 0.

    `tell` gets the address, with its token, once it can be opened.

    Raises `InputError` when the port is in use or not allowed; `KeyboardInterrupt` when the user stops the server,
    after it has let go of everything.
    """
    listener = _listen(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        create_app(sitting, token=token, name=str(port)),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        access_log=False,
        server_header=False,
        log_level="warning",
        timeout_graceful_shutdown=2,
    )
    address = f"http://{HOST}:{port}/?token={token}"
    tell(address)
    with listener, ExitStack() as stack:
        if open_browser:
            page = stack.enter_context(_entrance(address))
            # A browser in a terminal stays in the foreground, and the server must answer it.
            threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _entrance(address: str) -> Iterator[Path]:
    """Make a page that leads to the address: the browser's command line, which all users can list, has no token."""
    with tempfile.TemporaryDirectory(prefix="biaslens-") as folder:  # readable by its owner only
        page = Path(folder) / "label.html"
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n', encoding="ascii")
        yield page


def _listen(port: int) -> socket.socket:
    # The protocol is named: without it asyncio leaves small packets waiting, 40 ms a page.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":  # there it would let two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} cannot be used ({error.strerror or error}); give another --port, or none for any free one"
        ) from error
    return listener
