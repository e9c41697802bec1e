"""Let a model write a benchmark: roles, then questions, each checked as it arrives, nothing asked twice."""

from biaslens.benchmark.llm.asking import GenerationLoad, estimate_generation
from biaslens.benchmark.llm.run import Generation, GenerationObserver, Shortfall, generate, generate_async
from biaslens.benchmark.llm.state import GenerationSpec

__all__ = [
    "Generation",
    "GenerationLoad",
    "GenerationObserver",
    "GenerationSpec",
    "Shortfall",
    "estimate_generation",
    "generate",
    "generate_async",
]
