"""Run the application on this machine, for this machine only."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn

from biaslens.annotation.web.app import create_app
from biaslens.annotation.web.sitting import Sitting
from biaslens.errors import InputError

HOST = "127.0.0.1"


def serve(sitting: Sitting, *, port: int, open_browser: bool, tell: Callable[[str], None]) -> None:
    """Serve one sitting until interrupted.

    Parameters
    ----------
    sitting
        Who labels what.
    port
        0 for any free one.
    open_browser
        Open the page in the user's browser.
    tell
        Gets the address, with its token, once it can be opened.

    Raises
    ------
    InputError
        When the port is in use or not allowed.
    KeyboardInterrupt
        When the user stops the server, after it has let go of everything.
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
