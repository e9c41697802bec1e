"""Our questions and oracles in other people's harnesses, and what was answered there as a run."""
