"""A trial's folder: checkpoints while it is tuned, the result in the end; every file is whole or not there."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from biaslens._util.files import json_text, lock, write_bytes
from biaslens.errors import StorageError
from biaslens.probe.history import Evaluation
from biaslens.probe.prompt import SoftPrompt

if TYPE_CHECKING:
    from biaslens.probe.tuning import Tuned

SECONDS = 30.0
"""Between checkpoints that fall between evaluations."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything that the next step depends on; the order of the batches follows from the seed and the step."""

    step: int
    delta: NDArray[np.float32]
    mean: NDArray[np.float32]
    square: NDArray[np.float32]
    best: NDArray[np.float32]
    losses: tuple[float, ...]
    evaluations: tuple[Evaluation, ...]


class TrialFolder:
    """Folder of one seed and learning rate: checkpoint.npz, then prompt.npz, metrics.jsonl and result.json."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether the latest checkpoint is old."""
        return time.monotonic() - self._saved > SECONDS

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, and the metrics so far."""
        buffer = io.BytesIO()
        np.savez(
            buffer,
            **{name: getattr(checkpoint, name) for name in ("delta", "mean", "square", "best")},
            state=json.dumps(
                {
                    "step": checkpoint.step,
                    "losses": checkpoint.losses,
                    "evaluations": [asdict(each) for each in checkpoint.evaluations],
                }
            ),
        )
        write_whole(self.path / "checkpoint.npz", buffer.getvalue())
        write_whole(self.path / "metrics.jsonl", metrics(checkpoint.evaluations))
        self._saved = time.monotonic()

    def checkpoint(self) -> Checkpoint | None:
        """The latest checkpoint, or None.

        Raises
        ------
        StorageError
            When there is one that cannot be read.
        """
        path = self.path / "checkpoint.npz"
        if not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                state = json.loads(str(file["state"]))
                evaluations = tuple(Evaluation(**each) for each in state["evaluations"])
                arrays = {name: file[name] for name in ("delta", "mean", "square", "best")}
                return Checkpoint(step=state["step"], losses=tuple(state["losses"]), evaluations=evaluations, **arrays)
        except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
            raise StorageError(f"{path}: damaged ({error}); delete it, and its trial begins anew") from error

    def finish(self, tuned: Tuned) -> None:
        """Keep the result; result.json is written last and says that all is there."""
        write_whole(self.path / "prompt.npz", tuned.prompt.to_bytes())
        write_whole(self.path / "metrics.jsonl", metrics(tuned.evaluations))
        write_whole(self.path / "result.json", as_json(result_of(tuned)))
        (self.path / "checkpoint.npz").unlink(missing_ok=True)

    def finished(self) -> tuple[Any, ...] | None:
        """Fields of the `Tuned` that lies here, or None where it is not finished."""
        result = read_result(self.path)
        if result is None:
            return None
        lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        evaluations = tuple(_evaluation(json.loads(line)) for line in lines)
        best = next(each for each in evaluations if each.step == result["step"])
        prompt = SoftPrompt.read(self.path / "prompt.npz")
        return prompt, result["seed"], result["learning_rate"], best, result["steps"], result["stopped"], evaluations


def result_of(tuned: Tuned) -> dict[str, object]:
    """What result.json says of a tuned prompt: nothing that differs between runs, such as times."""
    return {
        "seed": tuned.seed,
        "learning_rate": tuned.learning_rate,
        "accuracy": tuned.best.accuracy,
        "loss": tuned.best.loss,
        "step": tuned.best.step,
        "steps": tuned.steps,
        "stopped": tuned.stopped,
        "finished": True,
    }


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


def metrics(evaluations: tuple[Evaluation, ...]) -> bytes:
    """Lines of JSON, one an evaluation: step, train_loss, evaluation_loss, accuracy."""
    rows = (
        {"step": e.step, "train_loss": e.train_loss, "evaluation_loss": e.loss, "accuracy": e.accuracy}
        for e in evaluations
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _evaluation(row: dict[str, Any]) -> Evaluation:
    return Evaluation(row["step"], row["train_loss"], row["evaluation_loss"], row["accuracy"])


def as_json(values: object) -> bytes:
    """As a file for people and programs."""
    return (json_text(values) + "\n").encode()


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place whole, on disk, or leave what was there.

    Raises
    ------
    StorageError
        When it cannot be written, such as on a full disk.
    """
    hint = "free some space or allow writing there, and start again: everything already stored is kept"
    write_bytes(path, data, hint=hint)


@contextmanager
def sole(folder: Path) -> Iterator[None]:
    """Hold a run folder for one process.

    Raises
    ------
    RunLockedError
        When another process has it.
    StorageError
        When it cannot be written.
    """
    held = lock(
        folder / ".lock",
        busy=f"{folder}: another process is tuning there; wait for it, or give another --out",
        hint="give another --out",
    )
    try:
        yield
    finally:
        held.release()
