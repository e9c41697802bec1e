"""A probe of one model: kill -9 and go on, one process a folder, the best of each seed, predictions, the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import COMMAND, biaslens, environment

torch = pytest.importorskip("torch", reason="torch is not installed")

from tiny_models import examples, network, tokenizer  # noqa: E402

from biaslens.errors import InputError, RunLockedError, RunMismatchError  # noqa: E402
from biaslens.probe.predictions import read_predictions  # noqa: E402
from biaslens.probe.run import DataChoice, ModelChoice, ProbeSpec, predict, run_trials, tune_prompts  # noqa: E402
from biaslens.probe.tuning import SoftPrompt, TuneOptions, classify, sole  # noqa: E402

pytestmark = pytest.mark.torch

SEEDS, RATES = (1001, 1002), (0.01, 0.001)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model and texts."""
    folder = tmp_path_factory.mktemp("given")
    network("llama").save_pretrained(folder / "model")
    tokenizer().save_pretrained(folder / "model")
    (folder / "data").mkdir()
    for part, count, seed in (("train", 200, 1), ("dev", 60, 2), ("test", 10, 3)):
        made = examples(count, seed)
        rows = "".join(f'"{text}",{label}\n' for text, label in zip(made.texts, made.labels, strict=True))
        (folder / "data" / f"{part}.csv").write_text("text,label\n" + rows)
    return folder


def spec_of(given: Path, out: Path) -> ProbeSpec:
    return ProbeSpec(
        model=ModelChoice(str(given / "model"), device="cpu"),
        data=DataChoice(f"csv:{given / 'data'}"),
        out=out,
        seeds=SEEDS,
        rates=RATES,
        options=TuneOptions(batch=16, max_steps=40, evaluate_every=10),
        threads=1,
    )


@pytest.fixture(scope="module")
def whole(given: Path, tmp_path_factory: pytest.TempPathFactory):
    """A run that nothing interrupted."""
    return tune_prompts(spec_of(given, tmp_path_factory.mktemp("whole")))


def arguments(spec: ProbeSpec) -> list[str]:
    return [
        "probe", "tune", spec.model.name, "--data", spec.data.spec, "--out", str(spec.out), "--seeds", "1001-1002",
        "--rates", "0.01,0.001", "--max-steps", "40", "--evaluate-every", "10", "--batch", "16", "--threads", "1",
        "--device", "cpu",
    ]  # fmt: skip


def results(folder: Path) -> dict[str, bytes]:
    """All files of the prompts, by their place."""
    found = [path for path in folder.rglob("*") if path.is_file() and "seed-" in str(path)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.suffix != ".part"}


def test_kill_9_and_the_same_command_gives_the_same_bytes(given, whole, tmp_path) -> None:
    spec = spec_of(given, tmp_path)
    process = subprocess.Popen([*COMMAND, *arguments(spec)], stderr=subprocess.DEVNULL, env=environment())
    middle = spec.folder / "seed-1001/rate-0.001/checkpoint.npz"  # the second of four trials has begun
    while not middle.exists():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (spec.folder / "seed-1002").exists()
    assert (spec.folder / "seed-1001/rate-0.01/result.json").exists()
    tune_prompts(spec)
    assert results(spec.folder) == results(whole.spec.folder)
    assert len(results(spec.folder)) == 3 * 2 * (1 + 2)  # prompt, metrics and result; a seed, and each of its rates


def test_each_seed_keeps_its_best_rate(whole) -> None:
    for tuned in whole.prompts:
        folder = whole.spec.folder / f"seed-{tuned.seed}"
        result = json.loads((folder / "result.json").read_text())
        rates = {row["learning_rate"]: (row["accuracy"], -row["loss"]) for row in result["rates"]}
        assert list(rates) == list(RATES)
        assert rates[tuned.learning_rate] == max(rates.values())
        assert result["accuracy"] == tuned.best.accuracy
        np.testing.assert_array_equal(SoftPrompt.read(folder / "prompt.npz").delta, tuned.prompt.delta)
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert [row["step"] for row in rows] == [0, 10, 20, 30, 40]
        assert rows[0].keys() == {"step", "train_loss", "evaluation_loss", "accuracy"}


def test_the_record_is_enough_to_repeat_it(whole) -> None:
    record = json.loads((whole.spec.folder / "run.json").read_text())
    assert record["fixed"]["options"]["evaluate_every"] == 10
    assert record["fixed"]["label_tokens"]["negative"] == [3, "negative"]
    assert record["fixed"]["weights"] == whole.frozen.fingerprint()
    assert record["texts"]["train"] == {"negative": 61, "neutral": 64, "positive": 75}
    assert (record["seeds"], record["rates"], record["threads"]) == ([1001, 1002], [0.01, 0.001], 1)
    assert record["versions"].keys() == {"biaslens", "torch", "transformers"}


def test_another_run_in_the_same_folder_is_refused(given, whole, tmp_path) -> None:
    other = replace(whole.spec, options=replace(whole.spec.options, batch=8))
    with pytest.raises(RunMismatchError, match=r"this run has options = .*give another --out"):
        tune_prompts(other)
    with sole(spec_of(given, tmp_path).folder), pytest.raises(RunLockedError, match="another process is tuning there"):
        tune_prompts(spec_of(given, tmp_path))


def test_more_seeds_are_added_to_a_run(whole) -> None:
    before = results(whole.spec.folder)
    wider = replace(whole.spec, seeds=(1001, 1002, 1003), rates=(0.01,))
    run = tune_prompts(replace(wider, seeds=(1003,), options=whole.spec.options))
    assert [tuned.seed for tuned in run.prompts] == [1003]
    assert before.items() <= results(whole.spec.folder).items()


def test_predictions_of_the_best_prompts(whole) -> None:
    table = predict(whole, best=1, attributes=["age"])
    best = max(whole.prompts, key=lambda tuned: tuned.best.rank)
    assert set(table["run_id"]) == {str(best.seed)}
    assert set(table["category"]) == {"age"}
    assert set(table["threshold_accuracy"]) == {best.best.accuracy}
    expected = classify(whole.frozen, best.prompt, list(table["text"]))
    np.testing.assert_allclose(table[["p_negative", "p_neutral", "p_positive"]].to_numpy(), expected)
    assert len(read_predictions(whole.spec.folder)) == len(table)


def test_the_command(given, whole) -> None:
    spec = whole.spec
    done = biaslens(*arguments(spec), "--best", "1", "--attributes", "age")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == ["seed", "accuracy", "loss", "rate", "step", "stopped"]
    assert [line[0] for line in lines if line[0].isdecimal()] == ["1001", "1002"]
    assert sum(line[-1] == "chosen" for line in lines) == 1
    assert "CSV: labels 0, 1, 2 or negative, neutral, positive" in done.stderr
    assert "4/4 seed 1002, rate 0.001: accuracy " in done.stderr
    as_json = biaslens(*arguments(spec), "--best", "1", "--attributes", "age", "--json")
    assert [row["seed"] for row in json.loads(as_json.stdout)["prompts"]] == [1001, 1002]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--seeds", "7-5"], "--seeds 7-5: write 1001-1015 or 1,2,5-7"),
        (["--rates", "fast"], "--rates fast: write numbers with commas"),
        (["--rates", "0"], "--rates 0: learning rates are above 0"),
        (["--label-words", "bad,good"], "--label-words bad,good: give three"),
    ],
)
def test_wrong_usage(option, message) -> None:
    done = biaslens("probe", "tune", "model", "--data", "csv:x", *option)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_ray_it_says_what_to_install(given, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("biaslens.probe.backbone.find_spec", lambda name: None)
    with pytest.raises(InputError, match="the probe needs ray, which is not installed; pip install ray"):
        run_trials(spec_of(given, tmp_path).trials(), on="ray")


@pytest.fixture
def _ray(monkeypatch: pytest.MonkeyPatch):
    """Two workers of Ray, on this machine, and no more of it afterwards."""
    ray = pytest.importorskip("ray", reason="ray is not installed; pip install ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def worker_of_mine() -> int | None:
    """A process of Ray that runs a trial and descends from this one."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if not (path / "cmdline").read_bytes().startswith(b"ray::run_trial"):
                continue
            ancestor = int(path.name)
            while ancestor not in (0, 1, os.getpid()):
                ancestor = int(Path("/proc", str(ancestor), "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if ancestor == os.getpid():
            return int(path.name)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_ray")
def test_on_ray_a_killed_worker_is_replaced_and_the_results_are_the_same_bytes(given, whole, tmp_path) -> None:
    spec = spec_of(given, tmp_path)
    killed = []

    def kill_one() -> None:
        while not any(spec.folder.glob("seed-*/rate-*/checkpoint.npz")):
            time.sleep(0.005)
        worker = worker_of_mine()
        if worker is not None:
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    run = tune_prompts(spec, on="ray")
    killer.join()
    assert killed
    assert results(spec.folder) == {k: v for k, v in results(whole.spec.folder).items() if "seed-1003" not in k}
    assert [tuned.seed for tuned in run.prompts] == list(SEEDS)
