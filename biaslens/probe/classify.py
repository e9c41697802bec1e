"""What a model with a tuned prompt calls each text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from biaslens.probe.batches import by_length
from biaslens.probe.prompt import SoftPrompt

if TYPE_CHECKING:
    from torch import Tensor

    from biaslens.probe.backbone import Frozen

BATCH = 64


def classify(frozen: Frozen, prompt: SoftPrompt, texts: Sequence[str], batch: int = BATCH) -> NDArray[np.float64]:
    """Probabilities of the three labels after each text.

    Parameters
    ----------
    frozen
        The model that the prompt was tuned for.
    prompt
        A tuned prompt.
    texts
        At least one token each; what is too long for the model is cut off at its end.
    batch
        Texts computed together; changes nothing but rounding errors.

    Returns
    -------
    NDArray
        Shape (texts, 3), columns negative, neutral, positive: the model's probabilities of the three label tokens,
        made to add up to 1. The label of a text is the column of the largest; `argmax` takes the first of equal ones.

    Raises
    ------
    InputError
        When a text gives no token.
    """
    import torch

    tokens = frozen.encode(texts, len(prompt.delta))
    found = np.empty((len(tokens), 3))
    with torch.inference_mode():
        vectors = prompt.vectors(frozen)
        for places in by_length([len(ids) for ids in tokens], batch):
            logits = frozen.last_logits(vectors, [tokens[place] for place in places])
            found[places] = torch.softmax(of_labels(frozen, logits).double(), dim=1).cpu().numpy()
    return found


def of_labels(frozen: Frozen, logits: Tensor) -> Tensor:
    """Columns of the three label tokens, of logits over the vocabulary."""
    return logits[:, list(frozen.words.ids)]
