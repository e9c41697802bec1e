"""Pages served on this machine to one person: who may ask, and a server for as long as they look."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from biaslens.errors import InputError

HOST = "127.0.0.1"

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)


class Guard:
    """Refuse foreign requests with 403, and send the headers that keep a page to itself.

    - Without the token, in the address of the first request and in a cookie from then on, nothing is answered. What
      that request gets is a page that goes on by itself, not a redirect: where a link on a foreign page led here,
      browsers keep a strict cookie back from the redirect. So the token leaves the address.
    - The header Host must name this machine: a foreign name that was made to point here (DNS rebinding) is refused.
    - What changes anything (POST) must come from a page of the same origin.

    Cookies are shared by all ports of a machine, so the name of the cookie must differ between servers.
    """

    def __init__(self, app: ASGIApp, *, token: str, cookie: str, policy: str) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie
        self._headers = {
            "Content-Security-Policy": f"{policy}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
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

        await self._app_for(Request(scope))(scope, receive, send_with_headers)

    def _app_for(self, request: Request) -> ASGIApp:
        host = request.headers.get("host", "")
        foreign = request.method == "POST" and request.headers.get("origin") != f"http://{host}"
        if _HOST.fullmatch(host) is None or foreign:
            return _FORBIDDEN
        if request.method == "GET" and request.url.path == "/" and self._is_token(request.query_params.get("token")):
            entered = HTMLResponse(_ENTERED)
            entered.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return entered
        return self._app if self._is_token(request.cookies.get(self._cookie)) else _FORBIDDEN

    def _is_token(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


_ENTERED = (
    '<!doctype html><html lang="en"><title>Opening</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0; url=/"><main><p><a href="/">Go on</a></p></main></html>\n'
)
_FORBIDDEN = PlainTextResponse(
    "Not allowed. Open the address that the command printed, with its token, in this browser.\n", 403
)


def serve(app: ASGIApp, *, policy: str, port: int, open_browser: bool, tell: Callable[[str], None]) -> None:
    """Serve an application behind a `Guard` until interrupted, at any free port where `port` is 0.

    `tell` gets the address, with its token, once it can be opened.

    Raises `InputError` when the port is in use or not allowed; `KeyboardInterrupt` when the user stops the server,
    after it has let go of everything.
    """
    listener = _listen(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        Guard(app, token=token, cookie=f"biaslens_{port}", policy=policy),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        access_log=False,
        log_config=None,  # its own would close every handler that the process has
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
        page = Path(folder) / "open.html"
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
