"""A frozen causal language model, asked for its next token after a soft prompt and a text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biaslens.errors import InputError
from biaslens.probe.vocabulary import LabelWords

if TYPE_CHECKING:
    from torch import Tensor

_SAMPLE = 4096


@dataclass(slots=True)
class Head:
    """Keeps, of the hidden states that reach the output head, those at given places only.

    The architecture's own forward pass does the rest (final norm, projection, logit scale, soft-capping), so its
    logits at those places are the full pass's, and the head is computed once a text instead of once a token.
    """

    places: Tensor | None = None

    def __call__(self, _module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ANN401 - torch's hook
        """Pre-hook of the output head."""
        if self.places is None:
            return inputs
        hidden = inputs[0]
        rows = self.places.view(-1, 1, 1).expand(-1, 1, hidden.shape[-1])
        return (hidden.gather(1, rows), *inputs[1:])

    @contextmanager
    def at(self, places: Tensor) -> Iterator[None]:
        """Ask for these places only, one a row, within the context."""
        self.places = places
        try:
            yield
        finally:
            self.places = None


@dataclass(frozen=True, slots=True)
class Frozen:
    """A causal language model whose weights stay as they are.

    Texts are padded to the right. A causal model computes every token from those before it and counts positions from
    the first, so padding behind a text can change nothing of it, and needs no mask; `biaslens.probe.frozen.load_frozen`
    checks that this holds.
    """

    name: str
    network: Any
    tokenizer: Any
    device: str
    dtype: str
    bos: int
    words: LabelWords
    longest: int
    """Most tokens that the model has positions for, prompt and text together."""
    notes: tuple[str, ...] = ()
    head: Head = field(default_factory=Head)
    shares_prompt: bool = False
    """Compute the prompt once a batch, not once a text: its states depend on nothing behind it. Gradients add up."""

    @property
    def parameters(self) -> int:
        """How many weights the model has."""
        return sum(weights.numel() for weights in self.network.parameters())

    @property
    def architecture(self) -> str:
        """Class of the model in transformers."""
        return type(self.network).__name__

    def fingerprint(self) -> str:
        """SHA-256 of the names and shapes of all weights, and of the first 4,096 values of each."""
        import torch

        digest = hashlib.sha256()
        for name, weights in self.network.named_parameters():
            digest.update(f"{name} {tuple(weights.shape)}\n".encode())
            digest.update(weights.detach().reshape(-1)[:_SAMPLE].to("cpu", torch.float32).numpy().tobytes())
        return digest.hexdigest()

    def embed(self, ids: Tensor) -> Tensor:
        """Input embeddings of tokens."""
        found: Tensor = self.network.get_input_embeddings()(ids)
        return found

    def encode(self, texts: Sequence[str], vectors: int) -> list[list[int]]:
        """Tokens of texts, without special tokens; what does not fit behind so many prompt vectors is cut off.

        Raises
        ------
        InputError
            When a text gives no token.
        """
        if not texts:
            return []
        tokens = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        empty = next((index for index, ids in enumerate(tokens) if not ids), None)
        if empty is not None:
            raise InputError(f"text {empty + 1} of {len(texts)}, {texts[empty]!r}, gives no token; leave it out")
        return [list(ids[: self.longest - vectors]) for ids in tokens]

    def last_logits(self, vectors: Tensor, texts: Sequence[Sequence[int]]) -> Tensor:
        """Logits of the next token after the prompt vectors and each text.

        Parameters
        ----------
        vectors
            Shape (vectors, width), in the space of the input embeddings.
        texts
            Tokens of each text; at least one each.

        Returns
        -------
        Tensor
            Shape (texts, vocabulary), single precision.
        """
        import torch

        longest = max(map(len, texts))
        rows = [[*ids, *[self.bos] * (longest - len(ids))] for ids in texts]
        embedded = self.embed(torch.tensor(rows, device=self.device))
        vectors = vectors.to(embedded.dtype)
        last = torch.tensor([len(ids) - 1 for ids in texts], device=self.device)
        past = None
        if self.shares_prompt:
            past = self._past(vectors, len(texts))
        else:
            embedded = torch.cat([vectors.expand(len(texts), -1, -1), embedded], dim=1)
            last = last + len(vectors)
        with self.head.at(last):
            logits: Tensor = self.network(
                inputs_embeds=embedded, past_key_values=past, use_cache=past is not None
            ).logits
        return logits[:, 0].float()

    def _past(self, vectors: Tensor, batch: int) -> Any:  # noqa: ANN401 - transformers' caches
        import torch

        with self.head.at(torch.zeros(1, dtype=torch.long, device=self.device)):
            past = self.network(inputs_embeds=vectors[None], use_cache=True).past_key_values
        past.batch_repeat_interleave(batch)
        return past
