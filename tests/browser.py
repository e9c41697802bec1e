"""A real browser for pages: headless Chromium, with everything it asks the network for refused and noted."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import subprocess
import tempfile
import time
from asyncio import AbstractEventLoop, _set_running_loop
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page, Playwright, Route

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


@dataclass
class Opened:
    """A page, and what went wrong on it.

    Parameters
    ----------
    page
        Playwright's page.
    requests
        Addresses it asked for that are not files.
    errors
        Messages of the console and uncaught errors.
    """

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@cache
def _devtools() -> str:
    """Start one Chromium for all tests of this process, and say where it listens; starting takes long."""
    assert CHROMIUM is not None, "a test that opens a browser needs the mark browser"
    profile = tempfile.mkdtemp(prefix="biaslens-chromium-")
    process = subprocess.Popen(
        [
            CHROMIUM, "--headless=new", "--no-startup-window", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def end() -> None:
        process.kill()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)

    atexit.register(end)
    port = Path(profile, "DevToolsActivePort")
    while not (port.exists() and port.read_text().count("\n") == 1):
        assert process.poll() is None, "Chromium ended as it started"
        time.sleep(0.02)
    return f"http://127.0.0.1:{port.read_text().splitlines()[0]}"


@cache
def _driver() -> tuple[Playwright, AbstractEventLoop]:
    """Start Playwright's own process once for all tests of this one, and give the loop that it runs in."""
    from playwright.sync_api import sync_playwright  # only here: all tests look for a browser, and few open it

    manager = sync_playwright()
    playwright = manager.start()
    loop = asyncio.get_running_loop()

    def end() -> None:
        _set_running_loop(loop)
        playwright.stop()

    atexit.register(end)
    return playwright, loop


@contextmanager
def _playwright() -> Iterator[Playwright]:
    """Playwright, whose loop counts as running only meanwhile: other tests run their own."""
    playwright, loop = _driver()
    _set_running_loop(loop)
    try:
        yield playwright
    finally:
        _set_running_loop(None)


@contextmanager
def browser(*, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True) -> Iterator[Opened]:
    """Open an empty page, in a test that has the mark `browser`: it is skipped on machines without one."""
    with _playwright() as playwright:
        chromium = playwright.chromium.connect_over_cdp(_devtools())
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        opened = Opened(context.new_page())

        def refuse(route: Route) -> None:
            if route.request.url.startswith("file:"):
                route.continue_()
            else:
                opened.requests.append(route.request.url)
                route.abort()

        context.route("**/*", refuse)
        opened.page.on("console", lambda line: opened.errors.append(line.text) if line.type == "error" else None)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        yield opened
        context.close()
        chromium.close()


def address(path: Path) -> str:
    return path.resolve().as_uri()
