"""No key goes where a working directory alone sends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, answer

from biaslens.errors import SettingsError
from biaslens.models import Message, Params, open_model
from biaslens.models.endpoints import Confirm, ask_with, destination, trust_file
from biaslens.settings import load_settings

SECRET = "sk-secret-0123456789"


@contextmanager
def confirming(confirm: Confirm) -> Iterator[None]:
    ask_with(confirm)
    try:
        yield
    finally:
        ask_with(None)


def ask(name: str) -> None:
    async def ask() -> None:
        model = open_model(name)
        await model.complete([Message("user", "Is it?")], Params())
        await model.close()

    asyncio.run(ask())


def hostile(name: str, url: str) -> str:
    """Write a file into the working directory that sends a key to `url`; return the model to ask."""
    if name == "env":
        Path(".env").write_text(f"OPENAI_BASE_URL={url}\n")
        return "openai/m"
    if name == "toml":
        Path("biaslens.toml").write_text(f'openai_base_url = "{url}"\n')
        return "openai/m"
    variable = "AWS_SECRET_ACCESS_KEY" if name == "variable" else "DEEPSEEK_API_KEY"
    Path("biaslens.toml").write_text(f'[endpoints.deepseek]\nbase_url = "{url}"\nkey_variable = "{variable}"\n')
    return "compatible/deepseek/m"


@pytest.fixture(params=["env", "toml", "variable", "namesake"])
def attack(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for variable in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, SECRET)
    return str(request.param)


def test_a_file_of_the_working_directory_takes_no_key_of_the_environment(attack: str) -> None:
    with FakeServer([answer("No.")]) as server:
        name = hostile(attack, server.base_url)
        with pytest.raises(SettingsError, match=r"different places.*--trust-address http://127") as caught:
            ask(name)
        assert server.log == []
    assert SECRET not in str(caught.value)


def test_an_address_is_confirmed_once_and_for_one_key(attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", SECRET)
    with FakeServer([answer("No."), answer("No.")]) as server:
        name = hostile(attack, server.base_url)
        asked = []
        with confirming(lambda where: not asked.append(where)):  # type: ignore[func-returns-value]
            ask(name)
        ask(name)
        assert (len(server.log), len(asked)) == (2, 1)
        assert not trust_file().is_relative_to(Path.cwd() / "runs")
        text = f'[endpoints.other]\nbase_url = "{server.base_url}"\nkey_variable = "OTHER_API_KEY"\n'
        Path("biaslens.toml").write_text(text)
        with pytest.raises(SettingsError, match="different places"):
            ask("compatible/other/m")


def test_who_says_no_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with FakeServer([answer("No.")]) as server:
        name = hostile("env", server.base_url)
        with confirming(lambda _: False), pytest.raises(SettingsError, match="not sent"):
            ask(name)
        assert (server.log, trust_file().exists()) == ([], False)


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_address_and_key_of_one_place_need_no_question(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer([answer("No.")]) as server:
        if place == "environment":
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        else:
            Path(".env").write_text(f"OPENAI_BASE_URL={server.base_url}\nOPENAI_API_KEY={SECRET}\n")
        ask("openai/m")
        assert len(server.log) == 1


def test_a_shipped_address_takes_its_own_key_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", SECRET)
    text = '[endpoints.mine]\nbase_url = "https://api.deepseek.com/"\nkey_variable = "DEEPSEEK_API_KEY"\n'
    Path("biaslens.toml").write_text(text)
    where = destination("compatible/mine/m", load_settings())
    assert where is not None
    assert where.same_place
    Path("biaslens.toml").write_text(text.replace("DEEPSEEK_API_KEY", "OPENAI_API_KEY"))
    where = destination("compatible/mine/m", load_settings())
    assert where is not None
    assert not where.same_place


def test_half_an_endpoint_of_the_environment_is_not_completed_by_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIASLENS_ENDPOINTS", json.dumps({"lab": {"base_url": "http://lab/v1"}}))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    Path("biaslens.toml").write_text('[endpoints.lab]\nkey_variable = "AWS_SECRET_ACCESS_KEY"\n')
    where = destination("compatible/lab/m", load_settings())
    assert where is not None
    assert where.key_variable is None


def test_the_environment_is_not_put_into_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    for text in ("OPENAI_BASE_URL=http://evil/${AWS_SECRET_ACCESS_KEY}\n", "BIASLENS_RUNS=${AWS_SECRET_ACCESS_KEY}\n"):
        Path(".env").write_text(text)
        try:
            settings = load_settings()
        except SettingsError as error:
            assert "variables are not put into addresses" in str(error)
        else:
            assert str(settings.runs) == "${AWS_SECRET_ACCESS_KEY}"


@pytest.mark.parametrize(("file", "line"), [("biaslens.toml", 'runs = "{}"\n'), (".env", "BIASLENS_RUNS={}\n")])
@pytest.mark.parametrize("runs", ["../../x", "/tmp/x", "inside/../../x"])
def test_a_file_of_the_working_directory_writes_nowhere_else(file: str, line: str, runs: str) -> None:
    Path(file).write_text(line.format(runs))
    with pytest.raises(SettingsError, match="outside the working directory"):
        load_settings()


def test_the_environment_may_put_runs_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIASLENS_RUNS", "/data/runs")
    assert load_settings().runs == Path("/data/runs")


def test_the_command_line_sends_a_key_elsewhere_only_with_the_option() -> None:
    env = {"OPENAI_API_KEY": SECRET}
    small = ("--attribute", "age", "--roles-per-attribute", "1", "--questions-per-kind", "1", "--kind", "yes_no")
    with FakeServer(lambda _: answer("No.")) as server:
        Path("biaslens.toml").write_text(f'openai_base_url = "{server.base_url}"\n')
        refused = biaslens("evaluate", "openai/m", *small, **env)
        assert (refused.returncode, server.log) == (1, [])
        assert f"--trust-address {server.base_url}" in refused.stderr
        listed = biaslens("models", **env).stdout
        assert f"Only after you confirm it: OPENAI_API_KEY (the environment) to {server.base_url}" in listed
        assert (
            f"sends OPENAI_API_KEY (the environment) to {server.base_url}"
            in biaslens("plan", "openai/m", *small, **env).stdout
        )
        done = biaslens("evaluate", "openai/m", *small, "--trust-address", server.base_url, **env)
        assert done.returncode == 0, done.stderr
        assert SECRET not in done.stdout + done.stderr
        again = biaslens("evaluate", "openai/m", *small, "--trials", "4", "--run", "other.sqlite", **env)
        assert again.returncode == 0, again.stderr
