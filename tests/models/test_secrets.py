"""A key that comes back from a server, or stands in an address, is neither shown nor stored."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, Reply, answer

from biaslens._util.text import keep_secret, redacted, secrets_of, shown_address
from biaslens.errors import ModelError
from biaslens.models import Message, Params, open_model
from biaslens.settings import load_settings

KEY = "sk-proj-ABCDEFGHIJKLMNOPQRSTUVWXYZ/1234"

BODIES = {
    "json": json.dumps({"error": {"message": f"Incorrect API key: {KEY}.", "code": "bad"}}),
    "json that is escaped": json.dumps({"error": {"message": f"key {KEY}"}}).replace("/", "\\/"),
    "text": f"no such key {KEY}",
    "page": f"<html><body>Bearer {KEY} is <b>wrong</b></body></html>",
    "cut within the key": "x" * 280 + KEY,
    "other json": json.dumps({"detail": [{"input": f"Bearer {KEY}"}]}),
}


@pytest.mark.parametrize("provider", ["openai", "mistral", "together", "openai-moderation", "perspective"])
@pytest.mark.parametrize("status", [200, 307, 400, 401, 500])
@pytest.mark.parametrize("body", BODIES)
def test_no_error_holds_the_key(provider: str, status: int, body: str) -> None:
    variable = "OPENAI" if provider.startswith("openai") else provider.upper()

    async def ask(url: str) -> None:
        addresses = {f"{name}_base_url": url for name in ("openai", "mistral", "together", "perspective")}
        model = open_model(f"{provider}/m", load_settings(**addresses, keys={f"{variable}_API_KEY": KEY}))
        try:
            await model.complete([Message("user", "Is it?")], Params())
        finally:
            await model.close()

    reply = Reply(status=status, body=BODIES[body].encode(), headers={"location": f"http://elsewhere/{KEY}"})
    with FakeServer(lambda _: reply) as server, pytest.raises(ModelError) as caught:
        asyncio.run(ask(server.base_url))
    assert "ABCDEFGH" not in str(caught.value)
    assert "sk-proj" not in str(caught.value)


def test_neither_run_file_nor_output_holds_a_key_or_what_the_address_holds() -> None:
    reply = Reply(status=400, body=BODIES["json"].encode())
    small = ("--attribute", "age", "--roles-per-attribute", "1", "--questions-per-kind", "4", "--kind", "yes_no")
    with FakeServer(lambda request: reply if request.number == 3 else answer("No.")) as server:
        secret_url = server.base_url.replace("//", "//someone:pass-word-1@") + "?api_key=query-secret-1"
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": secret_url}
        done = biaslens("evaluate", "openai/m", *small, "--run", "r.sqlite", **env)
        assert done.returncode in (1, 3)
        said = done.stdout + done.stderr
        for command in (("report", "r.sqlite", "--json"), ("models",), ("plan", "openai/m", *small)):
            said += biaslens(*command, **env).stdout
    with sqlite3.connect("r.sqlite") as run:
        said += "\n".join(run.iterdump())
    assert "failures" in said
    for secret in ("ABCDEFGH", "pass-word-1", "query-secret-1"):
        assert secret not in said
    assert "127.0.0.1" in said


def test_an_older_run_file_is_shown_without_the_secrets_of_its_address(run: Path) -> None:
    start = {"runtime": {"openai/m": {"base_url": "https://someone:pass-word-1@host/v1?api_key=query-secret-1"}}}
    with sqlite3.connect(run) as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('starts', ?)", [json.dumps([start])])
    connection.close()
    shown = biaslens("report", run, "--json")
    assert shown.returncode == 0, shown.stderr
    assert "https://host/v1" in shown.stdout
    assert "secret-1" not in shown.stdout
    assert "pass-word" not in shown.stdout


def test_a_short_word_is_no_secret() -> None:
    keep_secret("none")
    assert redacted("none of it") == "none of it"


def test_what_an_address_hides_is_what_is_kept_secret() -> None:
    url = "https://a%40b:pass%2Fword@host/v1?key=value-1"
    assert secrets_of(url) == ["a@b", "pass/word", "value-1"]
    assert shown_address(url) == "https://host/v1?key=[hidden]"
