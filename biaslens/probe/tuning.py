"""Tune one soft prompt on a frozen model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from biaslens.errors import InputError
from biaslens.probe.batches import Buckets, by_length
from biaslens.probe.checkpoint import Checkpoint, TrialFolder
from biaslens.probe.classify import of_labels
from biaslens.probe.examples import Examples, Splits
from biaslens.probe.history import Evaluation, History
from biaslens.probe.options import TuneOptions
from biaslens.probe.prompt import SoftPrompt, fresh_delta, prompt_vectors

if TYPE_CHECKING:
    from torch import Tensor

    from biaslens.probe.backbone import Frozen

CHECK_EVERY = 10
"""Steps between looks at the loss: a look makes a GPU wait."""


class Watcher(Protocol):
    """Watches a prompt being tuned."""

    def stepped(self, step: int, loss: float) -> None:
        """So many steps are done; the loss is that of the latest."""

    def evaluated(self, evaluation: Evaluation) -> None:
        """The prompt was tried on the validation texts."""


class Unwatched:
    """Nobody watches."""

    def stepped(self, step: int, loss: float) -> None:
        """Nothing."""

    def evaluated(self, evaluation: Evaluation) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """A tuned prompt, the best by validation accuracy of all that were evaluated (ties: the lower loss, the earlier).

    The prompt before the first step is evaluated too, but kept only where no later one could be.

    `steps` is how many were made, `best` the evaluation that the prompt is of, `stopped` why no more were made:
    "early stop", "most steps" or "loss not finite at step N".
    """

    prompt: SoftPrompt
    seed: int
    learning_rate: float
    best: Evaluation
    steps: int
    stopped: str
    evaluations: tuple[Evaluation, ...]


def tune(
    frozen: Frozen,
    splits: Splits,
    *,
    seed: int,
    learning_rate: float,
    options: TuneOptions | None = None,
    folder: Path | None = None,
    watcher: Watcher | None = None,
) -> Tuned:
    """Tune a prompt with AdamW until the early stop, the last step or a loss that is not finite.

    Parameters
    ----------
    frozen
        The model.
    splits
        Texts to train on and to choose by.
    seed
        Of the prompt's start and of the order of the batches.
    learning_rate
        Of AdamW.
    options
        Everything else.
    folder
        Where checkpoints go, and the result in the end. A prompt that is done there is read and not tuned again; one
        that was interrupted goes on where it was, to the same numbers as if it had not been.
    watcher
        Watches.

    Raises
    ------
    InputError
        When there are no texts, or one gives no token.
    StorageError
        When the folder cannot be written.
    """
    options = options or TuneOptions()
    if not len(splits.train) or not len(splits.dev):
        raise InputError("a prompt needs texts to train on and texts to choose by")
    place = TrialFolder(folder) if folder is not None else None
    done = place.finished() if place is not None else None
    if done is not None:
        return Tuned(*done)
    run = _Tuning(frozen, splits, options, seed=seed, learning_rate=learning_rate, place=place)
    run.watcher = watcher or Unwatched()
    stopped = run.go()
    best = run.history.best
    assert best is not None and run.prompt is not None, "the prompt is evaluated before the first step"
    tuned = Tuned(run.prompt, seed, learning_rate, best, run.step, stopped, tuple(run.history.evaluations))
    if place is not None:
        place.finish(tuned)
    return tuned


class _Tuning:
    """A prompt being tuned; `step` counts the steps made."""

    def __init__(
        self,
        frozen: Frozen,
        splits: Splits,
        options: TuneOptions,
        *,
        seed: int,
        learning_rate: float,
        place: TrialFolder | None,
    ) -> None:
        import torch

        self.frozen, self.options, self.place = frozen, options, place
        self.watcher: Watcher = Unwatched()
        self.train, self.dev = (_Encoded(frozen, part, options.vectors) for part in (splits.train, splits.dev))
        self.buckets = Buckets([len(ids) for ids in self.train.tokens], options.batch, seed)
        self.delta = fresh_delta(frozen, seed=seed, vectors=options.vectors, noise=options.noise).requires_grad_()
        self.optimizer = torch.optim.AdamW([self.delta], lr=learning_rate, weight_decay=options.weight_decay)
        self.history = History(options.patient_steps, options.window)
        self.prompt: SoftPrompt | None = None
        self.step = 0
        self.losses: list[float] = []
        saved = place.checkpoint() if place is not None else None
        if saved is not None:
            self._restore(saved)

    def go(self) -> str:
        """Make steps to the end; say why it is the end."""
        if not self.history.evaluations and not self._evaluate():
            raise InputError(
                f"{self.frozen.name}: the loss is not finite before the first step, in {self.frozen.dtype}"
            )
        waiting: list[Tensor] = []
        epoch, batches = -1, []
        while self.step < self.options.max_steps and not self.history.should_stop:
            number, index = divmod(self.step, self.buckets.per_epoch)
            if number != epoch:
                epoch, batches = number, self.buckets.epoch(number)
            waiting.append(self._step(batches[index]))
            self.step += 1
            due = self.step % self.options.evaluate_every == 0 or self.step == self.options.max_steps
            if due or self.step % CHECK_EVERY == 0:
                fault = self._look(waiting)
                if fault:
                    return fault
                if due and not self._evaluate():
                    return f"loss not finite at step {self.step}"
                self._save(always=due)
        return "early stop" if self.history.should_stop else "most steps"

    def _step(self, places: Sequence[int]) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(self.train, places, self.delta)[0]
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    def _loss(self, part: _Encoded, places: Sequence[int], delta: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss of some texts, and the label that each is given."""
        import torch

        logits = self.frozen.last_logits(prompt_vectors(self.frozen, delta), [part.tokens[place] for place in places])
        labels = torch.tensor([part.labels[place] for place in places], device=logits.device)
        three = of_labels(self.frozen, logits)
        if self.options.objective == "labels":
            loss = torch.nn.functional.cross_entropy(three, labels)
        else:
            ids = torch.tensor(self.frozen.words.ids, device=logits.device)
            loss = torch.nn.functional.cross_entropy(logits, ids[labels])
        return loss, three.detach().argmax(dim=1) == labels

    def _look(self, waiting: list[Tensor]) -> str:
        """Take over the latest losses; say which is not finite, if any is."""
        import torch

        losses: list[float] = torch.stack(waiting).tolist()
        first = self.step - len(losses) + 1
        waiting.clear()
        for step, loss in enumerate(losses, first):
            if not math.isfinite(loss):
                self.step = step
                return f"loss not finite at step {step}"
        self.losses += losses
        self.watcher.stepped(self.step, losses[-1])
        return ""

    def _evaluate(self) -> bool:
        """Try the prompt on the validation texts; False where its loss is not finite."""
        import torch

        total, right = 0.0, 0
        with torch.no_grad():
            for places in by_length([len(ids) for ids in self.dev.tokens], 2 * self.options.batch):
                loss, correct = self._loss(self.dev, places, self.delta.detach())
                total += float(loss) * len(places)
                right += int(correct.sum())
        count = len(self.dev.tokens)
        trained = math.fsum(self.losses) / len(self.losses) if self.losses else None
        evaluation = Evaluation(self.step, trained, total / count, right / count)
        self.losses = []
        if not math.isfinite(evaluation.loss):
            return False
        if self.history.add(evaluation):
            self.prompt = SoftPrompt(self.delta.detach().cpu().numpy().copy())
        self.watcher.evaluated(evaluation)
        return True

    def _save(self, *, always: bool) -> None:
        if self.place is None or not (always or self.place.due):
            return
        assert self.prompt is not None
        state = self.optimizer.state[self.delta]
        self.place.save(
            Checkpoint(
                step=self.step,
                delta=self.delta.detach().cpu().numpy(),
                mean=state["exp_avg"].cpu().numpy(),
                square=state["exp_avg_sq"].cpu().numpy(),
                best=self.prompt.delta,
                losses=tuple(self.losses),
                evaluations=tuple(self.history.evaluations),
            )
        )

    def _restore(self, saved: Checkpoint) -> None:
        import torch

        device = self.delta.device
        with torch.no_grad():
            self.delta.copy_(torch.from_numpy(saved.delta))
        self.optimizer.state[self.delta] = {
            "step": torch.tensor(float(saved.step)),
            "exp_avg": torch.from_numpy(saved.mean).to(device),
            "exp_avg_sq": torch.from_numpy(saved.square).to(device),
        }
        self.step, self.losses, self.prompt = saved.step, list(saved.losses), SoftPrompt(saved.best)
        for evaluation in saved.evaluations:
            self.history.add(evaluation)


class _Encoded:
    """Tokens and labels of texts."""

    def __init__(self, frozen: Frozen, examples: Examples, vectors: int) -> None:
        self.tokens = frozen.encode(examples.texts, vectors)
        self.labels = examples.labels
