"""What pages have in common: templates, the skeleton, the stylesheet, and a server for one person on this machine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import socket
import tempfile
import threading
import unicodedata
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from biaslens._util.text import UNUSUAL
from biaslens.benchmark.files import CANARY
from biaslens.errors import InputError

_HERE = "biaslens.report.page"


# Joiners shape letters and emoji; the rest of these are visible signs in front of digits.
_SHOWN_ALREADY = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")


def visible(text: str) -> Markup:
    r"""Escape a text, and put a mark in place of every character that cannot be seen.

    Those are control and format characters, such as a right-to-left override, and lone halves of surrogate pairs.
    Line breaks and tabs stay.

    >>> visible("<b>\u202e")
    Markup('&lt;b&gt;<span class="mark" title="right-to-left override">U+202E</span>')
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    # Escaping leaves what it is looked for alone, and marks must not be escaped.
    return Markup(UNUSUAL.sub(_mark, str(escape(plain))))  # noqa: S704 - escaped just now


def _mark(found: re.Match[str]) -> str:
    char = found[0]
    if char in _SHOWN_ALREADY or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    name = unicodedata.name(char, "control character").lower()
    return f'<span class="mark" title="{name}">U+{ord(char):04X}</span>'


def environment(package: str = _HERE, *, script: str = "script.js", **values: Any) -> Environment:  # noqa: ANN401 - template values
    """Make the environment of some pages: style and script are inside each page, and nothing else is loaded.

    Templates are looked for in `package` before those that all pages share, and so are its ``style.css``, which
    follows the common one, and its script. What models and people wrote goes through the filter `visible`. Beside
    `values` templates get `style`, `script`, and `policy`, the content security policy under which these two work; and
    the benchmark's `canary`, since pages quote its questions.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(_HERE, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    styles, code = (_sources(made, *names) for names in (("common.css", "style.css"), (script,)))
    made.globals |= values | {
        "style": Markup(styles),  # noqa: S704 - our own files
        "script": Markup(code),  # noqa: S704
        "canary": CANARY,
        "policy": f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(code)}'",
    }
    return made


def markdown(package: str, template: str, **values: object) -> str:
    """Fill a template of a package that is Markdown: what stands in it is escaped where that is needed."""
    made = Environment(  # noqa: S701 - not markup
        loader=PackageLoader(package, "."), undefined=StrictUndefined, trim_blocks=True
    )
    return made.get_template(template).render(**values)


def _sources(made: Environment, *names: str) -> str:
    assert made.loader is not None
    return "".join(made.loader.get_source(made, name)[0] for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
