"""Tune one soft prompt on a frozen model, interruptible at any moment, and classify texts with it."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from biaslens._util.files import json_text, lock, write_bytes
from biaslens.errors import InputError, StorageError
from biaslens.probe.examples import Splits

if TYPE_CHECKING:
    from torch import Tensor

    from biaslens.probe.backbone import Frozen

VECTORS = 8
NOISE = 0.1
"""Standard deviation of a fresh delta, in units of that of the model's embeddings."""


@dataclass(frozen=True, slots=True, eq=False)
class SoftPrompt:
    """Vector i is the embedding of the beginning-of-sequence token + delta[i]; shape (vectors, width)."""

    delta: NDArray[np.float32]

    def to_bytes(self) -> bytes:
        """As an NPZ file with one array, ``delta``; the same bytes for the same numbers."""
        return _npz(delta=self.delta)

    @classmethod
    def read(cls, path: Path) -> SoftPrompt:
        """Read a file that `to_bytes` filled; InputError where there is none."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                return cls(file["delta"])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path}: not a soft prompt ({' '.join(str(error).split())})") from None


def prompt_vectors(frozen: Frozen, delta: Tensor) -> Tensor:
    """The vectors of a delta, in its precision; gradients reach the delta."""
    import torch

    start = frozen.embed(torch.tensor([frozen.bos], device=frozen.device)).to(delta.dtype)
    return start + delta


def fresh_delta(frozen: Frozen, *, seed: int, vectors: int = VECTORS, noise: float = NOISE) -> Tensor:
    """Small normal noise, in units of the embeddings' deviation: equal vectors would stay equal, all seeds alike."""
    import torch

    table = frozen.network.get_input_embeddings().weight
    scale = noise * float(table.detach().float().std())
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(vectors, table.shape[1], generator=generator) * scale).to(frozen.device)


POOL = 50
"""Batches whose texts are sorted by length together: enough to waste little padding, few enough to stay mixed."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Training batches without end: epoch after epoch, each in an order of its own.

    An epoch shuffles all texts, cuts them into pools of 50 batches, sorts each pool by length, cuts it into batches of
    `size` and shuffles these. A batch depends on the seed and its number alone, so a resumed run needs no other state.
    """

    lengths: Sequence[int]
    size: int
    seed: int

    @property
    def per_epoch(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.lengths) // self.size)

    def epoch(self, number: int) -> list[list[int]]:
        """Places of the texts of each batch of an epoch."""
        generator = np.random.default_rng([self.seed, number])
        order = generator.permutation(len(self.lengths)).tolist()
        batches: list[list[int]] = []
        for start in range(0, len(order), POOL * self.size):
            batches += by_length(self.lengths, self.size, order[start : start + POOL * self.size])
        return [batches[place] for place in generator.permutation(len(batches)).tolist()]


def by_length(lengths: Sequence[int], size: int, places: Sequence[int] | None = None) -> list[list[int]]:
    """Places of texts, by default of all, each once, in batches of about one length."""
    order = sorted(range(len(lengths)) if places is None else places, key=lengths.__getitem__)
    return [order[at : at + size] for at in range(0, len(order), size)]


def classify(frozen: Frozen, prompt: SoftPrompt, texts: Sequence[str], batch: int = 64) -> NDArray[np.float64]:
    """Probabilities of negative, neutral and positive after each text, made to add up to 1, shape (texts, 3).

    A text has at least one token (else InputError); what is too long for the model is cut off at its end.
    """
    import torch

    tokens = frozen.encode(texts, len(prompt.delta))
    found = np.empty((len(tokens), 3))
    with torch.inference_mode():
        vectors = prompt_vectors(frozen, torch.from_numpy(prompt.delta.copy()).to(frozen.device))
        for places in by_length([len(ids) for ids in tokens], batch):
            logits = frozen.last_logits(vectors, [tokens[place] for place in places])
            found[places] = torch.softmax(logits[:, list(frozen.words.ids)].double(), dim=1).cpu().numpy()
    return found


Objective = Literal["vocabulary", "labels"]
RATES = (0.01, 0.001, 0.0001)
"""Learning rates that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Everything about tuning a prompt but its seed and learning rate.

    The objective is the log-likelihood of the label token over the whole "vocabulary", as in the paper, or over the
    three "labels". The weight decay of AdamW draws the prompt back to copies of the first token's embedding. The paper
    states neither `max_steps` nor `evaluate_every`. Early stopping: see `History`.
    """

    vectors: int = VECTORS
    noise: float = NOISE
    batch: int = 32
    objective: Objective = "vocabulary"
    weight_decay: float = 0.01
    max_steps: int = 10_000
    evaluate_every: int = 250
    patient_steps: int = 2_500
    window: int = 5


class Validation(NamedTuple):
    """A prompt on the validation texts after some steps; `train_loss` is the mean of those since the last one."""

    step: int
    train_loss: float | None
    loss: float
    accuracy: float

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Larger is better: a prompt that was tuned at all, its accuracy, and among equal ones the lower loss."""
        return self.step > 0, self.accuracy, -self.loss


@dataclass(slots=True)
class History:
    """Evaluations in their order.

    `should_stop` is the paper's rule: after `patient_steps` steps, the loss of the latest exceeds the largest of the
    `window` evaluations before it.

    >>> history = History(patient_steps=0, window=2)
    >>> [history.add(Validation(step, None, loss, 0.5)) for step, loss in enumerate([3.0, 2.0, 2.5])]
    [True, True, False]
    >>> history.should_stop
    False
    >>> history.add(Validation(3, None, 2.6, 0.5)), history.should_stop
    (False, True)
    """

    patient_steps: int
    window: int
    evaluations: list[Validation] = field(default_factory=list)
    best: Validation | None = None

    def add(self, evaluation: Validation) -> bool:
        """Take the next evaluation; say whether it is the best so far."""
        self.evaluations.append(evaluation)
        if self.best is not None and evaluation.rank <= self.best.rank:
            return False
        self.best = evaluation
        return True

    @property
    def should_stop(self) -> bool:
        """Whether the latest evaluation ends the tuning."""
        if len(self.evaluations) <= self.window or self.evaluations[-1].step < self.patient_steps:
            return False
        before = self.evaluations[-1 - self.window : -1]
        return self.evaluations[-1].loss > max(each.loss for each in before)


class Watcher:
    """Watches what takes long; this one does nothing."""

    def begun(self, title: str, steps: int) -> None:
        """Something begins in this process that takes at most so many steps."""

    def stepped(self, step: int, loss: float) -> None:
        """So many steps are done; the loss is that of the latest."""

    def evaluated(self, evaluation: Validation) -> None:
        """The prompt was tried on the validation texts."""

    def ended(self, title: str, tuned: Tuned) -> None:
        """A prompt is tuned, or was before."""


class Tuned(NamedTuple):
    """A tuned prompt, the best of all that were evaluated, the one before the first step only where no later could be.

    `stopped` is "early stop", "most steps" or "loss not finite at step N".
    """

    prompt: SoftPrompt
    seed: int
    learning_rate: float
    best: Validation
    steps: int
    stopped: str
    evaluations: tuple[Validation, ...]


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

    The seed is that of the prompt's start and of the order of the batches. Checkpoints go to the folder, and the result
    in the end. A prompt that is done there is read and not tuned again; one that was interrupted goes on where it was,
    to the same numbers as if it had not been. InputError when there are no texts, or one gives no token; StorageError
    when the folder cannot be written.
    """
    if not len(splits.train) or not len(splits.dev):
        raise InputError("a prompt needs texts to train on and texts to choose by")
    place = TrialFolder(folder) if folder is not None else None
    if place is not None and (done := place.finished()) is not None:
        return done
    run = _Tuning(frozen, splits, options or TuneOptions(), place, seed=seed, rate=learning_rate)
    run.watcher = watcher or Watcher()
    stopped = run.go()
    best = run.history.best
    assert best is not None and run.prompt is not None, "the prompt is evaluated before the first step"
    tuned = Tuned(run.prompt, seed, learning_rate, best, run.step, stopped, tuple(run.history.evaluations))
    if place is not None:
        write_tuned(place.path, tuned)
        (place.path / "checkpoint.npz").unlink(missing_ok=True)
    return tuned


CHECK_EVERY = 10
"""Steps between looks at the loss: a look makes a GPU wait."""


class _Tuning:
    """A prompt being tuned; `step` counts the steps made."""

    def __init__(
        self, frozen: Frozen, splits: Splits, options: TuneOptions, place: TrialFolder | None, *, seed: int, rate: float
    ) -> None:
        import torch

        self.frozen, self.options, self.place = frozen, options, place
        self.watcher = Watcher()
        self.train, self.dev = (
            (frozen.encode(part.texts, options.vectors), part.labels) for part in (splits.train, splits.dev)
        )
        self.buckets = Buckets([len(ids) for ids in self.train[0]], options.batch, seed)
        self.delta = fresh_delta(frozen, seed=seed, vectors=options.vectors, noise=options.noise).requires_grad_()
        self.optimizer = torch.optim.AdamW([self.delta], lr=rate, weight_decay=options.weight_decay)
        self.history = History(options.patient_steps, options.window)
        self.prompt: SoftPrompt | None = None
        self.step = 0
        self.losses: list[float] = []
        if place is not None and (saved := place.checkpoint()) is not None:
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
                if fault := self._look(waiting):
                    return fault
                if due and not self._evaluate():
                    return f"loss not finite at step {self.step}"
                if self.place is not None and (due or self.place.due):
                    self._save(self.place)
        return "early stop" if self.history.should_stop else "most steps"

    def _step(self, places: Sequence[int]) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(self.train, places, self.delta)[0]
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _loss(
        self, part: tuple[list[list[int]], Sequence[int]], places: Sequence[int], delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Mean loss of some texts, and whether each is given its label."""
        import torch

        tokens, known = part
        logits = self.frozen.last_logits(prompt_vectors(self.frozen, delta), [tokens[place] for place in places])
        labels = torch.tensor([known[place] for place in places], device=logits.device)
        ids = torch.tensor(self.frozen.words.ids, device=logits.device)
        three = logits[:, ids]
        scored = (three, labels) if self.options.objective == "labels" else (logits, ids[labels])
        return torch.nn.functional.cross_entropy(*scored), three.detach().argmax(dim=1) == labels

    def _look(self, waiting: list[Tensor]) -> str:
        """Take over the latest losses; say which is not finite, if any is."""
        import torch

        losses: list[float] = torch.stack(waiting).tolist()
        waiting.clear()
        for step, loss in enumerate(losses, self.step - len(losses) + 1):
            if not math.isfinite(loss):
                self.step = step
                return f"loss not finite at step {step}"
        self.losses += losses
        self.watcher.stepped(self.step, losses[-1])
        return ""

    def _evaluate(self) -> bool:
        """Try the prompt on the validation texts; False where its loss is not finite."""
        import torch

        total, right, count = 0.0, 0, len(self.dev[0])
        with torch.no_grad():
            for places in by_length([len(ids) for ids in self.dev[0]], 2 * self.options.batch):
                loss, correct = self._loss(self.dev, places, self.delta.detach())
                total += float(loss) * len(places)
                right += int(correct.sum())
        trained = math.fsum(self.losses) / len(self.losses) if self.losses else None
        evaluation = Validation(self.step, trained, total / count, right / count)
        self.losses = []
        if not math.isfinite(evaluation.loss):
            return False
        if self.history.add(evaluation):
            self.prompt = SoftPrompt(self.delta.detach().cpu().numpy().copy())
        self.watcher.evaluated(evaluation)
        return True

    def _save(self, place: TrialFolder) -> None:
        assert self.prompt is not None
        moments = self.optimizer.state[self.delta]
        arrays = {"delta": self.delta.detach(), "mean": moments["exp_avg"], "square": moments["exp_avg_sq"]}
        numbers = {name: array.cpu().numpy() for name, array in arrays.items()} | {"best": self.prompt.delta}
        place.save((self.step, self.losses, self.history.evaluations, numbers))

    def _restore(self, checkpoint: _Saved) -> None:
        import torch

        self.step, self.losses, evaluations, arrays = checkpoint
        saved = {name: torch.from_numpy(array).to(self.delta.device) for name, array in arrays.items()}
        with torch.no_grad():
            self.delta.copy_(saved["delta"])
        moments = {"exp_avg": saved["mean"], "exp_avg_sq": saved["square"]}
        self.optimizer.state[self.delta] = {"step": torch.tensor(float(self.step)), **moments}
        self.prompt = SoftPrompt(arrays["best"])
        for evaluation in evaluations:
            self.history.add(evaluation)


SECONDS = 30.0
"""Between checkpoints that fall between evaluations."""


_Saved = tuple[int, list[float], list[Validation], dict[str, NDArray[np.float32]]]
"""Everything that the next step depends on: the step, from which with the seed the order of the batches follows, losses
since the last evaluation, evaluations, and the delta, the moments of AdamW ("mean", "square") and the best delta."""


class TrialFolder:
    """Folder of one seed and learning rate: checkpoint.npz, then prompt.npz, metrics.jsonl and result.json."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether the latest checkpoint is old."""
        return time.monotonic() - self._saved > SECONDS

    def save(self, saved: _Saved) -> None:
        """Keep a checkpoint, and the metrics so far."""
        step, losses, made, arrays = saved
        state = json.dumps({"step": step, "losses": losses, "evaluations": [each._asdict() for each in made]})
        write_whole(self.path / "checkpoint.npz", _npz(**arrays, state=np.array(state)))
        write_whole(self.path / "metrics.jsonl", metrics(made))
        self._saved = time.monotonic()

    def checkpoint(self) -> _Saved | None:
        """What was saved latest, or None; StorageError where there is something that cannot be read."""
        path = self.path / "checkpoint.npz"
        if not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                state = json.loads(str(file["state"]))
                evaluations = [Validation(**each) for each in state["evaluations"]]
                arrays = {name: file[name] for name in ("delta", "mean", "square", "best")}
                return state["step"], state["losses"], evaluations, arrays
        except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
            raise StorageError(f"{path}: damaged ({error}); delete it, and its trial starts over") from error

    def finished(self) -> Tuned | None:
        """The result, or None where it is not finished."""
        result = read_result(self.path)
        if result is None:
            return None
        rows = map(json.loads, (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
        evaluations = tuple(Validation(*(row[name] for name in _METRICS)) for row in rows)
        return Tuned(
            prompt=SoftPrompt.read(self.path / "prompt.npz"),
            best=next(each for each in evaluations if each.step == result["step"]),
            evaluations=evaluations,
            **{name: result[name] for name in ("seed", "learning_rate", "steps", "stopped")},
        )


def write_tuned(folder: Path, tuned: Tuned, **more: object) -> None:
    """Write prompt.npz, metrics.jsonl and, last, result.json; nothing that differs between runs, such as times."""
    best = {"accuracy": tuned.best.accuracy, "loss": tuned.best.loss, "step": tuned.best.step}
    result = {"seed": tuned.seed, "learning_rate": tuned.learning_rate, **best, "steps": tuned.steps}
    write_whole(folder / "prompt.npz", tuned.prompt.to_bytes())
    write_whole(folder / "metrics.jsonl", metrics(tuned.evaluations))
    write_whole(folder / "result.json", {**result, "stopped": tuned.stopped, "finished": True, **more})


def read_result(folder: Path) -> dict[str, Any] | None:
    """What result.json in a folder says, or None where there is none."""
    path = folder / "result.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read ({error}); delete it, and it is made again") from error
    return found


_METRICS = ("step", "train_loss", "evaluation_loss", "accuracy")
"""What the file of metrics calls the parts of a `Validation`."""


def metrics(evaluations: Sequence[Validation]) -> bytes:
    """Lines of JSON, one an evaluation."""
    return "".join(json.dumps(dict(zip(_METRICS, each, strict=True))) + "\n" for each in evaluations).encode()


def _npz(**arrays: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def write_whole(path: Path, data: bytes | Mapping[str, object]) -> None:
    """Put a file in place whole, values as JSON, or leave what was there; StorageError says that all else is kept."""
    hint = "free some space or allow writing there, and start again: everything already stored is kept"
    write_bytes(path, data if isinstance(data, bytes) else (json_text(data) + "\n").encode(), hint=hint)


@contextmanager
def sole(folder: Path) -> Iterator[None]:
    """Hold a run folder for one process; RunLockedError where another one has it."""
    held = lock(
        folder / ".lock",
        busy=f"{folder}: another process is tuning there; wait for it, or give another --out",
        hint="give another --out",
    )
    try:
        yield
    finally:
        held.release()
