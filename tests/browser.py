"""A real browser for pages: headless Chromium, with everything it asks the network for refused and noted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

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


@contextmanager
def browser(*, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True) -> Iterator[Opened]:
    """Open an empty page, in a test that has the mark `browser`: it is skipped on machines without one."""
    assert CHROMIUM is not None, "a test that opens a browser needs the mark browser"
    from playwright.sync_api import sync_playwright  # only here: all tests look for a browser, and few open it

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
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
