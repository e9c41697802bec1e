"""Who may ask: only the browser that was given the token, and only from this application's own pages."""

from __future__ import annotations

import hmac
import re

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)


class Guard:
    """Refuse foreign requests with 403, and send the headers that keep a page to itself.

    - Without the token, in the address of the first request and in a cookie from then on, nothing is answered.
    - The header Host must name this machine: a foreign name that was made to point here (DNS rebinding) is refused.
    - What changes anything (POST) must come from a page of the same origin.

    Parameters
    ----------
    app
        What answers the other requests.
    token
        The secret.
    cookie
        Name of the cookie. Cookies are shared by all ports of a machine, so it must differ between servers.
    policy
        Content security policy.
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
