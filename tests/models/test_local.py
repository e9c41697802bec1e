"""The in-process model, with the embedded weights where they are installed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from biaslens.errors import RejectedError, SettingsError, UnavailableError, UnknownModelError
from biaslens.models import Completion, Message, Params, catalogue, local, open_model
from biaslens.models.local import LocalModel
from biaslens.settings import load_settings

needs_weights = pytest.mark.skipif(
    local.find_embedded() is None, reason="the embedded weights are not installed: run `biaslens fetch`"
)
MESSAGES = [Message("system", "You are a gardener."), Message("user", "Is it good to water plants at noon?")]
OTHER = [Message("system", "You are a gardener."), Message("user", "Name two tools that you use.")]


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    opened = LocalModel.open("smollm2", load_settings(threads=1))
    yield opened
    asyncio.run(opened.close())


def ask(model: LocalModel, messages: list[Message] = MESSAGES, *, seed: int = 1, max_tokens: int = 12) -> Completion:
    return asyncio.run(model.complete(messages, Params(seed=seed, max_tokens=max_tokens)))


@needs_weights
def test_the_embedded_model_answers(model: LocalModel) -> None:
    completion = ask(model)
    assert completion.text.strip()
    assert (completion.finish_reason, completion.completion_tokens) == ("length", 12)
    assert completion.model == "SmolLM2-135M-Instruct.Q4_1.gguf"


@needs_weights
def test_a_seed_repeats_an_answer_and_another_gives_another(model: LocalModel) -> None:
    assert ask(model, seed=1) == ask(model, seed=1)
    assert len({ask(model, seed=seed).text for seed in range(5)}) > 1


@needs_weights
def test_what_was_asked_before_does_not_change_an_answer(model: LocalModel) -> None:
    # A shared beginning is what a prompt cache would reuse, and then the last digits and this answer differ.
    shared = "Plants need water and light and soil and time. " * 8
    first, second = ([Message("user", f"{shared} What does plant number {number} need?")] for number in range(2))
    before = ask(model, first, max_tokens=24)
    ask(model, second, max_tokens=1)
    assert ask(model, first, max_tokens=24) == before


@needs_weights
def test_a_new_process_gives_the_same_answer_and_ends_well_unclosed(model: LocalModel) -> None:
    code = (
        "import asyncio; from biaslens.models import *\n"
        f"messages = [Message(m['role'], m['content']) for m in {[vars_of(message) for message in MESSAGES]}]\n"
        "model = open_model('local/smollm2')\n"
        "print(asyncio.run(model.complete(messages, Params(seed=1, max_tokens=12))).text, end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, ask(model).text, "")


def vars_of(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


@needs_weights
def test_ctrl_c_ends_a_long_answer_at_once() -> None:
    code = (
        "import asyncio; from biaslens.models import *\n"
        "model = open_model('local/smollm2')\n"
        "print('asking', flush=True)\n"
        "asyncio.run(model.complete([Message('user', 'Tell a long story.')], Params(seed=1, max_tokens=3000)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    assert process.returncode == -signal.SIGINT


@needs_weights
def test_a_cancelled_request_leaves_the_model_free(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []

    def counted(*args) -> list[dict]:
        chunks = ask_server(*args)
        pieces.append(len(chunks))
        return chunks

    async def cancel() -> None:
        task = asyncio.create_task(model.complete(MESSAGES, Params(max_tokens=3000, seed=1)))
        await asyncio.sleep(0.2)
        task.cancel()
        await model.complete(MESSAGES, Params(max_tokens=1, seed=1))

    ask_server = local._ask
    monkeypatch.setattr(local, "_ask", counted)
    asyncio.run(cancel())
    assert len(pieces) == 2
    assert pieces[0] < 2000  # of 3000 tokens, each a piece


@needs_weights
def test_the_event_loop_goes_on_while_the_model_computes(model: LocalModel) -> None:
    async def ticks() -> int:
        task = asyncio.create_task(model.complete(MESSAGES, Params(max_tokens=30, seed=1)))
        count = 0
        while not task.done():
            await asyncio.sleep(0.005)
            count += 1
        return count

    assert asyncio.run(ticks()) > 5


@needs_weights
def test_the_record_of_a_run_says_what_decides_the_answers(model: LocalModel) -> None:
    assert model.runtime["sha256"] == catalogue.EMBEDDED_SHA256
    assert model.runtime["file"] == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert model.runtime["threads"] == "1"
    assert model.runtime["sdk"].startswith("xllamacpp ")


@needs_weights
def test_a_prompt_longer_than_the_context_is_refused(model: LocalModel) -> None:
    with pytest.raises(RejectedError, match="exceeds the available context size"):
        ask(model, [Message("user", "water " * 5000)])


@needs_weights
def test_a_closed_model_says_so_and_leaves_no_thread() -> None:
    before = threading.active_count()
    model = LocalModel.open("smollm2", load_settings())
    ask(model, OTHER, max_tokens=1)
    asyncio.run(model.close())
    asyncio.run(model.close())
    assert threading.active_count() == before
    with pytest.raises(UnavailableError, match="closed"):
        ask(model)


@needs_weights
def test_a_setting_puts_another_file_in_the_place_of_the_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = local.find_embedded()
    assert packaged is not None
    (tmp_path / "mine.gguf").symlink_to(packaged)
    monkeypatch.setenv("BIASLENS_LOCAL_MODEL", "mine.gguf")
    model = open_model("local/smollm2")
    asyncio.run(model.close())
    assert model.runtime["file"] == "mine.gguf"


def test_no_model_of_the_name() -> None:
    with pytest.raises(UnknownModelError, match=r"local/llama: neither smollm2 .* nor the path of a \.gguf file"):
        open_model("local/llama")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(SettingsError, match=r"no such file: missing\.gguf"):
        open_model("local/missing.gguf")


@pytest.mark.parametrize("content", [b"", b"GGUF" + bytes(1000), b"not a model"])
def test_a_file_that_is_no_model_is_named(content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    Path("broken.gguf").write_bytes(content)
    with pytest.raises(SettingsError, match=r"broken\.gguf cannot be loaded"):
        open_model("local/broken.gguf")
    assert capfd.readouterr() == ("", "")
