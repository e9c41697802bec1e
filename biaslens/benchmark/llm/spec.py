"""What a generation is to make, and where it keeps what it has paid for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from biaslens.errors import InputError
from biaslens.models import Params
from biaslens.schema import Attribute

RUN_FILE = "generation.sqlite"
"""Name of the run file, in the folder of the benchmark."""

MAX_TOKENS = 4096
"""Default limit of a reply: twenty choice questions as JSON take about 2,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSpec:
    """A benchmark to be written by a model.

    Model, numbers, sampling parameters, seed and prompts belong to a folder once it holds an answer; attributes,
    rounds and `partial` may change from one start to the next.

    Parameters
    ----------
    model
        Full name of the generator: "openai/gpt-4o".
    out
        Folder of the benchmark and of the run file `RUN_FILE`.
    attributes
        Attributes of the roles.
    roles_per_attribute, questions_per_kind
        Roles of each attribute, and questions of each kind for each role.
    max_rounds
        Most times that a list of roles, or of questions of one kind for one role, is asked for.
    params
        Sampling parameters.
    seed
        Start of the requests' seeds, where the provider takes one.
    json_schema
        Ask for JSON by the provider's schema mode, where it has one.
    partial
        Write the benchmark even where roles or questions are missing.
    """

    model: str
    out: Path
    attributes: tuple[Attribute, ...] = tuple(Attribute)
    roles_per_attribute: int = 50
    questions_per_kind: int = 20
    max_rounds: int = 5
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    seed: int = 0
    json_schema: bool = True
    partial: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        for name, value in (
            ("roles per attribute", self.roles_per_attribute),
            ("questions per kind", self.questions_per_kind),
            ("rounds", self.max_rounds),
        ):
            if value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if not self.attributes:
            raise InputError(f"a benchmark needs at least one attribute: {', '.join(Attribute)}")

    @property
    def run(self) -> Path:
        """The run file."""
        return self.out / RUN_FILE

    @property
    def command(self) -> str:
        """The command that makes such a benchmark again, as far as a model repeats itself."""
        parts = ["biaslens", "generate", "--with", self.model, "--seed", str(self.seed)]
        parts += ["--roles-per-attribute", str(self.roles_per_attribute)]
        parts += ["--questions-per-kind", str(self.questions_per_kind)]
        if set(self.attributes) != set(Attribute):
            for attribute in self.attributes:
                parts += ["--attribute", attribute]
        if self.params.temperature is not None:
            parts += ["--temperature", str(self.params.temperature)]
        if self.params.max_tokens is not None:
            parts += ["--max-tokens", str(self.params.max_tokens)]
        if not self.json_schema:
            parts.append("--no-json-schema")
        return shlex.join([*parts, "--out", "benchmark"])
