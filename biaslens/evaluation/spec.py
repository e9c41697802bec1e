"""What an evaluation is to do, and where its run file lies."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from biaslens._util.text import safe_name
from biaslens.errors import InputError
from biaslens.evaluation.panel import Panel
from biaslens.models import Params
from biaslens.schema import Attribute, Condition, Kind

MAX_TOKENS = 512
"""Default limit of an answer: room for 100 words in any language, and a bound on what a runaway answer costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Which part of a benchmark to ask; None leaves nothing out. A smaller slice is contained in a larger one.

    Parameters
    ----------
    attributes
        Attributes of the roles.
    kinds
        Kinds of question.
    roles_per_attribute, questions_per_kind
        The first so many roles of each attribute, and the first so many questions of each kind of a role.
    """

    attributes: tuple[Attribute, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    roles_per_attribute: int | None = None
    questions_per_kind: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """An evaluation of one model.

    Parameters
    ----------
    model
        Full name: "openai/gpt-4o-mini".
    run
        The run file; see `default_run`.
    benchmark
        Folder of the benchmark; None for the shipped one.
    slice
        The part of it to ask.
    conditions
        Who the model is told to be.
    trials
        How often each question is asked, independently.
    panel
        Who judges the why answers; None leaves them unjudged, which `judge` can do later.
    params
        Sampling parameters of the model under test.
    seed
        Start of every random choice: option order, and the requests' seeds where the provider takes one.
    shuffle_options
        Permute the groups of a choice question in each trial, the abstaining option staying last.
    system
        System message of one's own, before the one that gives the model its role; None for none.
    prompts
        Folder with templates of one's own (`prompting.ASK_TEMPLATES`); None for the shipped ones.
    """

    model: str
    run: Path
    benchmark: Path | None = None
    slice: Slice = field(default_factory=Slice)
    conditions: tuple[Condition, ...] = (Condition.ROLE,)
    trials: int = 3
    panel: Panel | None = None
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    seed: int = 0
    shuffle_options: bool = False
    system: str | None = None
    prompts: Path | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense, and let a condition named twice be one."""
        object.__setattr__(self, "conditions", tuple(dict.fromkeys(self.conditions)))
        for name, value in (
            ("trials", self.trials),
            ("roles per attribute", self.slice.roles_per_attribute),
            ("questions per kind", self.slice.questions_per_kind),
        ):
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if self.system is not None and not self.system.strip():
            raise InputError("the system message is empty; leave it out, or say something")
        if not self.conditions:
            raise InputError("an evaluation needs at least one condition: role, no_role or neutral_role")

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges that are asked as chat models."""
        return () if self.panel is None else self.panel.models

    @property
    def params_record(self) -> dict[str, object]:
        """The sampling parameters as they enter keys and the record of the run."""
        return asdict(self.params)


def default_run(folder: Path, model: str) -> Path:
    """Run file of a model when none is named: its name made safe, in `folder`.

    Examples
    --------
    >>> default_run(Path("runs"), "together/meta-llama/Llama-3-8b-chat-hf").name
    'together-meta-llama-Llama-3-8b-chat-hf.sqlite'
    """
    return folder / (safe_name(model) + ".sqlite")
