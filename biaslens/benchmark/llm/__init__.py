"""Let a model write a benchmark: roles, then encounters, each checked as it arrives, nothing asked twice."""

from biaslens.benchmark.llm.run import (
    Generation,
    GenerationLoad,
    Shortfall,
    estimate_generation,
    generate,
    generate_async,
)
from biaslens.benchmark.llm.state import GenerationSpec

__all__ = [
    "Generation",
    "GenerationLoad",
    "GenerationSpec",
    "Shortfall",
    "estimate_generation",
    "generate",
    "generate_async",
]
