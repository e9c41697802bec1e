"""A server on this machine, for one browser."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from starlette.applications import Starlette

from biaslens.report.page import server as serving


def test_the_browser_is_not_told_the_token_on_its_command_line(monkeypatch):
    opened = []

    def browse(address):
        opened.append((address, Path(address.removeprefix("file://")).read_text(encoding="ascii")))

    def stop(*_, **__):
        while not opened:
            time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(serving.webbrowser, "open", browse)
    monkeypatch.setattr(serving.uvicorn.Server, "run", stop)
    told = []
    with pytest.raises(KeyboardInterrupt):
        serving.serve(Starlette(), policy="", port=0, open_browser=True, tell=told.append)
    token = told[0].partition("token=")[2]
    ((address, page),) = opened
    assert token not in address
    assert f"url={told[0]}" in page
    assert not Path(address.removeprefix("file://")).exists()
