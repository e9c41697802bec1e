"""Ray Data LLM answers files of requests: its own stages on a real local Ray, with a stand-in for vLLM itself."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from command import biaslens
from small import small_benchmark

from biaslens.runfile import Store

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]
FAKE = Path(__file__).parents[1] / "fake_vllm"
MODEL = "compatible/vllm//weights"
COPIES = 6
PLANNED = 6 * COPIES
BLOCK = 3
IN_FLIGHT = 8 * BLOCK  # Ray's max_concurrent_batches of an engine
TEMPLATE = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


def weights(folder: Path) -> Path:
    """The tokenizer of a model of bytes, and its defaults of sampling; vLLM's stand-in needs no more of one."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({byte: number for number, byte in enumerate(alphabet)}, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_special_tokens(["<s>", "</s>"])
    # As Llama's: a text that the template has begun already would get a second beginning.
    beginning = ("<s>", made.token_to_id("<s>"))
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[beginning])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", bos_token="<s>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    defaults = {"temperature": 0.6, "top_k": 20, "eos_token_id": tokenizer.eos_token_id}
    (folder / "generation_config.json").write_text(json.dumps(defaults))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory):
    """Ray with room for an engine, and the log of what it is asked."""
    import ray

    log = tmp_path_factory.mktemp("log") / "asked.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("FAKE_VLLM_LOG", str(log))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(FAKE), os.environ.get("PYTHONPATH", "")]))
        patch.syspath_prepend(FAKE)
        ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield log
        ray.shutdown()


@pytest.fixture
def asked(cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log, empty, in a folder with a benchmark, weights and the configuration of an engine."""
    monkeypatch.chdir(tmp_path)
    small_benchmark(Path("small"), copies=COPIES)
    configure()
    cluster.write_text("")
    return cluster


def configure(more: str = "") -> None:
    """Each process of Ray takes seconds to import what it needs, so there is one engine."""
    source = weights(Path("weights").resolve())
    Path("engine.toml").write_text(f'model_source = "{source}"\nconcurrency = [1, 1]\nbatch_size = {BLOCK}\n{more}')


def evaluate(*more: str):
    return biaslens(
        "evaluate", MODEL, "--benchmark", "small", "--trials", 1, "--run", "r.sqlite", "--batch-files", "files",
        "--engine", "ray-vllm", "--engine-config", "engine.toml", "--json", *more,
    )  # fmt: skip


def requests(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def answers() -> list[tuple]:
    with Store(Path("r.sqlite"), checked=True) as store:
        return store.rows("SELECT text, finish_reason, thought FROM answers")


def test_a_killed_engine_loses_what_was_in_flight_and_no_answer_is_asked_for_twice(asked: Path) -> None:
    killed: list[int] = []
    ended = threading.Event()

    def kill_one() -> None:
        while not killed and not ended.wait(0.01):
            begun = requests(asked)
            if len(begun) >= PLANNED // 3:
                os.kill(begun[-1]["pid"], signal.SIGKILL)
                killed.append(begun[-1]["pid"])

    killer = threading.Thread(target=kill_one)
    killer.start()
    done = evaluate()
    ended.set()
    killer.join()
    assert (done.returncode, len(killed)) == (0, 1), done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["answered"], record["missing"], record["failed"]) == (PLANNED, 0, 0)
    third = PLANNED // 3
    assert Counter(row[:3] for row in answers()) == {
        ("No.", "stop", None): third,
        ("(C)", "stop", None): third,
        ("They are not.", "stop", "Why indeed?"): third,
    }
    log = requests(asked)
    # As `vllm serve` would ask: the template's own marks alone, and the weights' defaults of sampling.
    assert log[0]["prompt"].startswith("<s>system: You are a")
    assert [log[0]["params"][name] for name in ("temperature", "top_k", "max_tokens")] == [0.6, 20, 512]
    assert len({each["params"]["seed"] for each in log}) == PLANNED
    assert evaluate().returncode == 0
    assert len(requests(asked)) == len(log) <= PLANNED + IN_FLIGHT


def test_a_cut_answer_says_so_and_a_request_that_fails_is_its_own_failure(asked: Path) -> None:
    done = evaluate("--max-tokens", 2)
    assert (done.returncode, len(answers())) == (3, PLANNED - 3)
    assert {row[1] for row in answers()} == {"length"}
    assert "3 of 3 failures: ray-vllm: ValueError: the prompt is longer than the model's context" in done.stderr


def test_an_engine_that_does_not_start_is_one_line(asked: Path) -> None:
    configure('[engine_kwargs]\nfault = "no memory on the GPU"\n')
    done = evaluate()
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "ray-vllm stopped: RuntimeError: no memory on the GPU; what is answered is kept, and the same command goes on"
    )


def test_without_vllm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("biaslens.engine._ray_vllm.find_spec", lambda name: None if name == "vllm" else name)
    done = biaslens("evaluate", "compatible/vllm/weights", "--batch-files", "files", "--engine", "ray-vllm")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "needs vllm, not installed here: pip install 'ray[llm]'" in done.stderr


@pytest.mark.parametrize(
    "given", [("--engine", "ray-vllm"), ("--engine-config", "engine.toml", "--batch-files", "files")]
)
def test_an_engine_answers_files(given: tuple[str, ...]) -> None:
    assert biaslens("evaluate", MODEL, *given).returncode == 2


def test_only_open_weights_are_run(asked: Path) -> None:
    done = evaluate("--judge", "openai/judge")
    assert (done.returncode, "openai/judge: --engine ray-vllm runs open weights" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [("batch = 3", "batch"), ("should_continue_on_error = false", "should_continue_on_error cannot be set")],
)
def test_a_configuration_that_is_none_is_refused(asked: Path, config: str, complaint: str) -> None:
    Path("engine.toml").write_text(config)
    done = evaluate()
    assert (done.returncode, complaint in done.stderr) == (1, True), done.stderr
    assert not Path("r.sqlite").exists()
