"""Tuning a prompt: it learns, stops as stated, keeps the best, and survives what goes wrong."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tiny_models import examples, frozen, splits  # noqa: E402

from biaslens.errors import InputError, RunLockedError, StorageError  # noqa: E402
from biaslens.probe import tuning  # noqa: E402
from biaslens.probe.examples import Splits  # noqa: E402
from biaslens.probe.tuning import (  # noqa: E402
    History,
    SoftPrompt,
    TrialFolder,
    TuneOptions,
    Validation,
    Watcher,
    classify,
    fresh_delta,
    read_result,
    sole,
    tune,
)

pytestmark = pytest.mark.torch

SHORT = TuneOptions(batch=16, max_steps=60, evaluate_every=20)


@pytest.fixture(scope="module")
def model():
    return frozen("llama")


class Stop(Watcher):
    """Stops a run after some steps, as an interruption would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, step: int, loss: float) -> None:
        if step >= self.step:
            raise KeyboardInterrupt


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("objective", ["vocabulary", "labels"])
def test_a_prompt_learns(model, objective) -> None:
    options = replace(SHORT, objective=objective, max_steps=150, evaluate_every=50)
    tuned = tune(model, splits(), seed=1, learning_rate=0.01, options=options)
    first = tuned.evaluations[0]
    assert first.step == 0 and first.train_loss is None
    assert tuned.best.loss < 0.85 * first.loss
    assert tuned.best.accuracy >= first.accuracy
    assert (tuned.steps, tuned.stopped) == (150, "most steps")


def test_the_objectives_differ(model) -> None:
    # Before the first step: over the whole vocabulary the label has less probability than over the three labels.
    losses = [
        tune(model, splits(), seed=1, learning_rate=0.01, options=replace(SHORT, objective=objective, max_steps=1))
        .evaluations[0].loss
        for objective in ("vocabulary", "labels")
    ]  # fmt: skip
    assert losses[0] > losses[1] + 0.5


def test_accuracy_is_that_of_classify(model) -> None:
    data = splits()
    tuned = tune(model, data, seed=1, learning_rate=0.05, options=SHORT)
    called = classify(model, tuned.prompt, data.dev.texts).argmax(axis=1)
    assert tuned.best.accuracy == np.mean(called == np.array(data.dev.labels))


def test_seeds_differ_and_repeat(model) -> None:
    deltas = [tune(model, splits(), seed=seed, learning_rate=0.01, options=SHORT).prompt.delta for seed in (1, 1, 2)]
    np.testing.assert_array_equal(deltas[0], deltas[1])
    assert np.abs(deltas[0] - deltas[2]).max() > 0.01


def test_the_start_is_small_seeded_noise(model) -> None:
    spread = float(model.network.get_input_embeddings().weight.std())
    start = fresh_delta(model, seed=5)
    assert start.shape == (8, 32)
    assert float(start.std()) == pytest.approx(0.1 * spread, rel=0.15)  # 256 draws: 0.1 is 2 standard errors of 4.4 %
    torch.testing.assert_close(start, fresh_delta(model, seed=5))


def test_early_stop_as_stated() -> None:
    # Losses by step: the one at 2,750 exceeds the one before it, but not the largest of the five before it.
    losses = {0: 9.0, 500: 3.0, 1000: 2.0, 1500: 2.5, 2000: 2.1, 2250: 2.2, 2500: 2.4, 2750: 2.45, 3000: 2.51}
    history, stops = History(patient_steps=2500, window=5), {}
    for step, loss in losses.items():
        history.add(Validation(step, None, loss, 0.5))
        stops[step] = history.should_stop
    # At 3,000 the five before are 2.5, 2.1, 2.2, 2.4, 2.45, and 2.51 > 2.5.
    assert [step for step, stop in stops.items() if stop] == [3000]


def test_no_early_stop_before_its_time() -> None:
    history = History(patient_steps=2500, window=5)
    for number in range(10):
        history.add(Validation(number * 250, None, float(number), 0.5))
        assert not history.should_stop
    history.add(Validation(2500, None, 10.0, 0.5))
    assert history.should_stop


def test_a_rising_loss_ends_the_tuning(model) -> None:
    # A rate far too high: the loss soon exceeds what it was.
    options = replace(SHORT, patient_steps=0, window=1, evaluate_every=1, max_steps=500)
    tuned = tune(model, splits(), seed=1, learning_rate=1.0, options=options)
    assert tuned.stopped == "early stop" and tuned.steps < 500
    assert tuned.evaluations[-1].loss > tuned.evaluations[-2].loss
    assert all(a.loss >= b.loss for a, b in zip(tuned.evaluations[:-2], tuned.evaluations[1:-1], strict=True))


def test_the_best_is_tuned_has_the_highest_accuracy_then_the_lowest_loss_then_comes_first() -> None:
    history = History(patient_steps=0, window=99)
    seen = [(1.0, 0.9), (1.0, 0.5), (0.9, 0.4), (0.8, 0.5), (0.8, 0.5), (0.7, 0.49)]
    for step, (loss, accuracy) in enumerate(seen):
        history.add(Validation(step, None, loss, accuracy))
    assert history.best == Validation(3, None, 0.8, 0.5)


def test_a_loss_that_is_not_finite_stops_and_the_best_is_kept(tmp_path) -> None:
    model = frozen("gpt2")
    broken = model.tokenizer("street")["input_ids"][0]
    model.network.get_input_embeddings().register_forward_hook(
        lambda _, ids, out: out.masked_fill((ids[0] == broken)[..., None], torch.nan)
    )
    data = splits()
    whole = [number for number, text in enumerate(data.train.texts) if "street" not in text]
    # 16 whole texts a step; the one broken text comes in the first epoch, after at least one evaluation.
    train = data.train.some([*whole[:79], next(n for n in range(96) if n not in whole)])
    dev = data.dev.some([number for number, text in enumerate(data.dev.texts) if "street" not in text])
    options = replace(SHORT, evaluate_every=1)
    tuned = tune(model, Splits(train, dev, dev), seed=1, learning_rate=0.01, options=options, folder=tmp_path / "trial")
    step = tuned.steps
    assert tuned.stopped == f"loss not finite at step {step}" and 1 <= step <= 5
    assert len(tuned.evaluations) == step  # before the first step, and after each that was finite
    assert tuned.best in tuned.evaluations
    assert np.isfinite(tuned.prompt.delta).all()
    assert read_result(tmp_path / "trial")["stopped"] == tuned.stopped
    assert json.loads((tmp_path / "trial/result.json").read_text())["finished"] is True


def test_an_interrupted_trial_goes_on_to_the_same_bytes(model, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tuning, "SECONDS", 0.0)  # between evaluations, too
    whole = tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "whole")
    for step in (30, 40, 50):
        with pytest.raises(KeyboardInterrupt):
            tune(
                model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "cut", watcher=Stop(step)
            )
        assert TrialFolder(tmp_path / "cut").checkpoint()[0] == step - 10
        assert read_result(tmp_path / "cut") is None
    tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert set(files(tmp_path / "cut")) == {"metrics.jsonl", "prompt.npz", "result.json"}
    assert len((tmp_path / "cut/metrics.jsonl").read_text().splitlines()) == len(whole.evaluations) == 4


def test_a_finished_trial_is_read_and_not_tuned_again(model, tmp_path) -> None:
    first = tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "trial")
    again = tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "trial", watcher=Stop(0))
    np.testing.assert_array_equal(first.prompt.delta, again.prompt.delta)
    assert (again.best, again.steps, again.stopped, again.evaluations) == (
        first.best, first.steps, first.stopped, first.evaluations
    )  # fmt: skip


def test_a_full_disk_is_one_line_and_loses_nothing(model, tmp_path, monkeypatch) -> None:
    whole = tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "whole")
    written = []

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > 4:  # the first evaluation's two files fit, each with its name in the folder
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match=r"No space left on device.*free some space .* is kept") as error:
            tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "full")
    assert "\n" not in str(error.value)
    assert TrialFolder(tmp_path / "full").checkpoint()[0] == 20
    tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path / "full")
    assert files(tmp_path / "full") == files(tmp_path / "whole")
    assert whole.steps == 60


def test_a_damaged_checkpoint_is_named(model, tmp_path) -> None:
    (tmp_path / "checkpoint.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(StorageError, match=r"checkpoint.npz: damaged .*delete it, and its trial starts over"):
        tune(model, splits(), seed=7, learning_rate=0.01, options=SHORT, folder=tmp_path)


def test_one_process_a_folder(tmp_path) -> None:
    with (
        sole(tmp_path / "run"),
        pytest.raises(RunLockedError, match="another process is tuning there"),
        sole(tmp_path / "run"),
    ):
        pass


def test_classify_is_deterministic_and_does_not_see_padding(model) -> None:
    texts = list(examples(30, 9).texts)
    prompt = SoftPrompt(fresh_delta(model, seed=2, noise=1.0).numpy())
    found = classify(model, prompt, texts, batch=7)
    np.testing.assert_array_equal(found, classify(model, prompt, texts, batch=7))
    np.testing.assert_allclose(found, classify(model, prompt, texts, batch=1), atol=1e-6)
    np.testing.assert_allclose(found[::-1], classify(model, prompt, texts[::-1], batch=30), atol=1e-6)
    assert found.shape == (30, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert classify(model, prompt, []).shape == (0, 3)


def test_without_texts_nothing_is_tuned(model) -> None:
    with pytest.raises(InputError, match="texts to train on and texts to choose by"):
        tune(model, splits(train=0), seed=1, learning_rate=0.01, options=SHORT)


def test_a_prompt_file_is_the_same_bytes_and_reads_back(tmp_path) -> None:
    prompt = SoftPrompt(np.arange(6, dtype=np.float32).reshape(2, 3))
    (tmp_path / "prompt.npz").write_bytes(prompt.to_bytes())
    np.testing.assert_array_equal(SoftPrompt.read(tmp_path / "prompt.npz").delta, prompt.delta)
    assert prompt.to_bytes() == prompt.to_bytes()
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a soft prompt"):
        SoftPrompt.read(tmp_path / "other.npz")
