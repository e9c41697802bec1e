from __future__ import annotations

import pytest

from biaslens.errors import SettingsError
from biaslens.models import providers
from biaslens.models.catalogue import entries, entry, params_for, price
from biaslens.settings import load_settings

STUDY = ["GPT-4o-mini", "DeepSeek-v2.5", "Qwen1.5-110B", "Llama-3-8B", "Llama-3-70B", "Mistral-7B-v0.3"]


def test_the_six_models_of_the_study_are_marked_and_come_after_today_s() -> None:
    assert [found.study for found in entries() if found.study] == STUDY
    assert (entries()[0].name, entries()[0].status) == ("openai/gpt-6-luna", "available")


def test_a_thinking_model_has_room_to_think_unless_it_is_told_not_to() -> None:
    limits = {"limit": 512, "thinking_limit": 8192}
    for given, tokens in (({}, 8192), ({"reasoning_effort": "none"}, 512), ({"max_tokens": 9}, 9)):
        assert params_for("openai/gpt-6-luna", given, **limits).max_tokens == tokens
    switched_off = {"extra": {"chat_template_kwargs": {"enable_thinking": False}}}
    assert params_for("compatible/vllm/Qwen/Qwen3-8B", switched_off, **limits).max_tokens == 512
    assert params_for("openai/gpt-4o-mini", {}, **limits).max_tokens == 512


def test_parameters_of_the_settings_are_the_default_and_those_given_come_first() -> None:
    own = {"reasoning_effort": "low", "stop": ["x"], "extra": {"a": 1, "b": 1}}
    settings = load_settings(models={"openai/m": {"params": own}})
    found = params_for("openai/m", {"reasoning_effort": "high", "extra": {"b": 2}}, settings, limit=1, thinking_limit=2)
    assert (found.reasoning_effort, found.stop, found.extra) == ("high", ("x",), {"a": 1, "b": 2})


def test_a_parameter_of_the_settings_that_is_none_is_named() -> None:
    settings = load_settings(models={"openai/m": {"params": {"heat": 1}}})
    with pytest.raises(SettingsError, match=r'\[models."openai/m".params\]: there is no parameter .heat'):
        params_for("openai/m", {}, settings, limit=1, thinking_limit=2)


@pytest.mark.parametrize("found", entries(), ids=lambda found: found.name)
def test_every_figure_has_a_source_and_a_date(found) -> None:
    assert found.source
    assert found.as_of
    assert found.name.split("/")[0] in providers()


@pytest.mark.parametrize("found", entries(), ids=lambda found: found.name)
def test_a_price_is_whole_or_left_out(found) -> None:
    assert (found.input_price is None) == (found.output_price is None)


def test_who_quotes_a_price_is_named_until_the_users_settings_give_one() -> None:
    name = "together/openai/gpt-oss-120b"
    found, own = entry(name), entry(name, load_settings(models={name: {"input_price": 0.2, "output_price": 0.7}}))
    assert found is not None and own is not None
    assert (bool(found.price_from), own.price_from) == (True, None)


def test_price_adds_prompts_and_answers() -> None:
    # 2,000,000 x 0.14 / 1e6 + 1,000,000 x 0.28 / 1e6 = 0.28 + 0.28
    assert price("compatible/deepseek/deepseek-chat", 2_000_000, 1_000_000) == pytest.approx(0.56, abs=1e-12)


def test_an_unknown_price_is_none_and_not_zero() -> None:
    assert price("openai/no-such-model", 1, 1) is None
    assert price("openai/m", 1, 1, load_settings(models={"openai/m": {"context": 1}})) is None


def test_what_runs_in_process_costs_nothing() -> None:
    assert price("local/smollm2", 1000, 1000) == 0.0
    assert price("local/mine.gguf", 1000, 1000) == 0.0


def test_the_users_settings_change_a_field_and_keep_the_rest() -> None:
    settings = load_settings(models={"openai/gpt-4o-mini": {"output_price": 1.0}})
    # 1,000,000 x 0.15 / 1e6 + 1,000,000 x 1.00 / 1e6
    assert price("openai/gpt-4o-mini", 1_000_000, 1_000_000, settings) == pytest.approx(1.15, abs=1e-12)
    changed = entry("openai/gpt-4o-mini", settings)
    assert changed is not None
    assert changed.study == "GPT-4o-mini"


def test_the_users_settings_add_a_model() -> None:
    settings = load_settings(models={"compatible/lab/m": {"input_price": 1, "output_price": 2}})
    assert entries(settings)[-1].name == "compatible/lab/m"
    assert entry("compatible/lab/m") is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"prize": 1}, r'\[models\."openai/x"\], prize: Extra inputs'), ({"input_price": -1}, "input_price: .*greater")],
)
def test_a_wrong_entry_names_the_model_and_the_field(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        entry("openai/x", load_settings(models={"openai/x": fields}))
