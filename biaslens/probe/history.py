"""The evaluations of a prompt: which is the best, and when it is time to stop."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A prompt on the validation texts after some steps.

    `train_loss` is the mean over the steps since the evaluation before, None before the first step; `accuracy` is the
    share of texts whose most probable of the three labels is the true one.
    """

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
    >>> [history.add(Evaluation(step, None, loss, 0.5)) for step, loss in enumerate([3.0, 2.0, 2.5])]
    [True, True, False]
    >>> history.should_stop
    False
    >>> history.add(Evaluation(3, None, 2.6, 0.5)), history.should_stop
    (False, True)
    """

    patient_steps: int
    window: int
    evaluations: list[Evaluation] = field(default_factory=list)
    best: Evaluation | None = None

    def add(self, evaluation: Evaluation) -> bool:
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
