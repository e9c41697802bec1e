"""The soft prompt: vectors in front of a text, each the embedding of the first token plus what is learned."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from biaslens.probe.backbone import Frozen

VECTORS = 8
NOISE = 0.1
"""Standard deviation of a fresh delta, in units of that of the model's embeddings."""


@dataclass(frozen=True, slots=True, eq=False)
class SoftPrompt:
    """What was learned: vector i of the prompt is the embedding of the beginning-of-sequence token + delta[i].

    `delta` has the shape (vectors, width), single precision.
    """

    delta: NDArray[np.float32]

    def vectors(self, frozen: Frozen) -> Tensor:
        """The vectors that stand in front of a text, shape (vectors, width)."""
        import torch

        return prompt_vectors(frozen, torch.from_numpy(self.delta.copy()).to(frozen.device))

    def to_bytes(self) -> bytes:
        """As an NPZ file with one array, ``delta``; the same bytes for the same numbers."""
        buffer = io.BytesIO()
        np.savez(buffer, delta=self.delta)
        return buffer.getvalue()

    @classmethod
    def read(cls, path: Path) -> SoftPrompt:
        """Read a file that `to_bytes` filled.

        Raises
        ------
        InputError
            When there is none.
        """
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
    """Small normal noise, from a generator of its own: equal vectors would stay equal, and all seeds alike.

    Its standard deviation is `noise` times that of the entries of the model's embedding matrix, so that it is small
    for every model.
    """
    import torch

    table = frozen.network.get_input_embeddings().weight
    scale = noise * float(table.detach().float().std())
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(vectors, table.shape[1], generator=generator) * scale).to(frozen.device)
