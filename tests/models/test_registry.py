from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from biaslens.errors import SettingsError, UnknownModelError
from biaslens.models import base, open_model, providers
from biaslens.models.base import ChatModel
from biaslens.models.endpoints import endpoint, key_variable, rate_limits
from biaslens.settings import Endpoint, Settings, load_settings


class Echo:
    """A third party's model, as far as opening it goes."""

    def __init__(self, model_id: str) -> None:
        self.name = f"echo/{model_id}"


def open_echo(model_id: str, settings: Settings) -> Echo:
    return Echo(model_id)


def open_broken(model_id: str, settings: Settings) -> ChatModel:
    raise KeyError("no such table")


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Entry points as an installed package would declare them."""
    found = [
        EntryPoint("echo", f"{__name__}:open_echo", base.GROUP),
        EntryPoint("broken", f"{__name__}:open_broken", base.GROUP),
        EntryPoint("gone", "no_such_package:open", base.GROUP),
        EntryPoint("number", f"{__name__}:NUMBER", base.GROUP),
    ]
    monkeypatch.setattr(base, "entry_points", lambda group: EntryPoints(found))
    base.providers.cache_clear()
    yield
    base.providers.cache_clear()


NUMBER = 7


def test_the_five_providers_are_found() -> None:
    assert {"compatible", "local", "mistral", "openai", "together"} <= set(providers())


@pytest.mark.parametrize("name", ["gpt-4o", "openai/", "/gpt-4o", ""])
def test_a_name_without_provider_and_model_says_the_form(name: str) -> None:
    with pytest.raises(UnknownModelError, match="PROVIDER/MODEL"):
        open_model(name)


def test_an_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(UnknownModelError, match=r"no provider 'opneai'; known: .*openai"):
        open_model("opneai/gpt-4o")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("mistral/open-mistral-7b", "MISTRAL_API_KEY"),
        ("together/meta-llama/Llama-3-8b-chat-hf", "TOGETHER_API_KEY"),
        ("compatible/deepseek/deepseek-chat", "DEEPSEEK_API_KEY"),
        ("compatible/dashscope/qwen-plus", "DASHSCOPE_API_KEY"),
    ],
)
def test_a_missing_key_names_its_variable_and_the_remedy(name: str, variable: str) -> None:
    with pytest.raises(SettingsError, match=rf"{variable} is not set; `export {variable}="):
        open_model(name)


def test_a_key_opens_the_model() -> None:
    async def name() -> str:
        model = open_model("openai/gpt-4o-mini", load_settings(keys={"OPENAI_API_KEY": "k"}))
        await model.close()
        return model.name

    assert asyncio.run(name()) == "openai/gpt-4o-mini"


def test_an_unknown_endpoint_names_the_known_ones_and_the_file() -> None:
    with pytest.raises(UnknownModelError, match=r"no endpoint 'mine'; known: .*ollama.*\[endpoints\.mine\]"):
        open_model("compatible/mine/m")


def test_an_endpoint_without_a_model_says_the_form() -> None:
    with pytest.raises(UnknownModelError, match="compatible/ENDPOINT/MODEL"):
        open_model("compatible/ollama")


@pytest.mark.usefixtures("third_party")
def test_a_third_party_adds_a_provider() -> None:
    assert open_model("echo/any/thing").name == "echo/any/thing"


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken/x", r"'broken/x' cannot be opened: KeyError: 'no such table'"),
        ("gone/x", r"provider 'gone' \(no_such_package:open\) cannot be imported: ModuleNotFoundError"),
        ("number/x", r"provider 'number': .*:NUMBER is not a function"),
    ],
)
def test_a_broken_third_party_is_one_clear_line(name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        open_model(name)
    assert "\n" not in str(caught.value)


def test_no_sdk_is_imported_before_a_model_is_opened() -> None:
    code = "import sys, biaslens.models; print({'openai', 'mistralai', 'together', 'xllamacpp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/m", "OPENAI_API_KEY"),
        ("together/a/m", "TOGETHER_API_KEY"),
        ("compatible/deepseek/m", "DEEPSEEK_API_KEY"),
        ("compatible/ollama/m", None),
        ("local/smollm2", None),
    ],
)
def test_where_a_models_key_is_looked_up(name: str, variable: str | None) -> None:
    assert key_variable(name, load_settings()) == variable


def test_limits_are_those_of_the_configured_endpoint() -> None:
    lab = Endpoint(base_url="http://lab/v1", requests_per_minute=60, tokens_per_minute=9000)
    assert rate_limits("compatible/lab/m", load_settings(endpoints={"lab": lab})) == (60, 9000)
    assert rate_limits("openai/m", load_settings()) == (None, None)


def test_the_users_endpoint_takes_the_place_of_a_built_in_one() -> None:
    own = Endpoint(base_url="http://elsewhere/v1")
    assert endpoint("ollama", load_settings(endpoints={"ollama": own})) == own
