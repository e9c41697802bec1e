from __future__ import annotations

from pathlib import Path

import pytest

from biaslens.errors import SettingsError
from biaslens.settings import load_settings


def test_nothing_set_gives_the_defaults() -> None:
    settings = load_settings()
    assert (settings.runs, settings.request_timeout, settings.threads, settings.endpoints) == (
        Path("runs"),
        120.0,
        None,
        {},
    )


def test_the_caller_comes_before_the_environment_and_that_before_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("biaslens.toml").write_text("threads = 1\n")
    assert load_settings().threads == 1
    Path(".env").write_text("BIASLENS_THREADS=2\n")
    assert load_settings().threads == 2
    monkeypatch.setenv("BIASLENS_THREADS", "3")
    assert load_settings().threads == 3
    assert load_settings(threads=4).threads == 4


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert load_settings().openai_base_url is None


def test_endpoints_come_from_the_configuration_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.toml"
    path.write_text('[endpoints.lab]\nbase_url = "http://lab:8000/v1"\nsend_seed = true\nrequests_per_minute = 60\n')
    monkeypatch.setenv("BIASLENS_CONFIG", str(path))
    lab = load_settings().endpoints["lab"]
    assert (lab.base_url, lab.send_seed, lab.requests_per_minute, lab.key_variable) == (
        "http://lab:8000/v1",
        True,
        60.0,
        None,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[endpoints", r"biaslens\.toml: cannot be read as TOML"),
        ("thread = 1", r"biaslens\.toml: unknown setting 'thread'"),
        ("[endpoints.lab]", r"biaslens\.toml, endpoints\.lab\.base_url: Field required"),
        ('[endpoints.lab]\nbase_url = "lab:8000"', r"endpoints\.lab\.base_url: 'lab:8000' is not a URL"),
        ('[endpoints.lab]\nbase_url = "http://lab"\nseed = true', r"endpoints\.lab\.seed: Extra inputs"),
        ("threads = 0", r"setting threads \(BIASLENS_THREADS, or in biaslens\.toml\): .*greater than 0"),
    ],
)
def test_a_wrong_configuration_file_says_where(text: str, message: str) -> None:
    Path("biaslens.toml").write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        load_settings()
    assert "\n" not in str(caught.value)


def test_a_configuration_file_that_was_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIASLENS_CONFIG", "missing.toml")
    with pytest.raises(SettingsError, match=r"missing\.toml: cannot be read"):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("BIASLENS_THREADS", "many", "BIASLENS_THREADS"),
        ("OPENAI_BASE_URL", "localhost:8000", r"OPENAI_BASE_URL, .*: 'localhost:8000' is not a URL"),
        ("BIASLENS_ENDPOINTS", "{", "endpoints.*JSON"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=message):
        load_settings()


def test_an_env_file_that_is_not_text_is_named() -> None:
    Path(".env").write_bytes(b"KEY=\xff\n")
    with pytest.raises(SettingsError, match=r"^\.env: cannot be read"):
        load_settings()


def test_a_key_is_found_in_the_environment_before_the_env_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("LAB_KEY=from-file\n")
    assert load_settings().require_key("LAB_KEY").get_secret_value() == "from-file"
    monkeypatch.setenv("LAB_KEY", " from-environment\n")
    assert load_settings().require_key("LAB_KEY").get_secret_value() == "from-environment"


def test_a_missing_key_is_named() -> None:
    assert load_settings().key("LAB_KEY") is None
    with pytest.raises(SettingsError, match="LAB_KEY is not set"):
        load_settings().require_key("LAB_KEY")


def test_a_key_with_a_typographic_quote_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "“secret”")
    with pytest.raises(SettingsError, match="LAB_KEY holds characters that no key has") as caught:
        load_settings().key("LAB_KEY")
    assert "secret" not in str(caught.value)


def test_keys_are_never_printed() -> None:
    settings = load_settings(keys={"LAB_KEY": "secret"})
    assert "secret" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
