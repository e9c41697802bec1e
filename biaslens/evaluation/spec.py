"""What an evaluation is to do: whom it asks what, who judges, where its run file lies; studies of several models."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError
from pydantic_core import ErrorDetails

from biaslens._util.text import safe_name
from biaslens.engine import Pace
from biaslens.errors import InputError
from biaslens.evaluation.prompting import JUDGE_PROMPTS, judge_template_hash
from biaslens.models import Params
from biaslens.models.catalogue import params_for
from biaslens.oracles import screen
from biaslens.schema import Attribute, Condition, Kind, content_hash
from biaslens.settings import Settings

MAX_TOKENS = 512
"""Default limit of an answer: room for 100 words in any language, and a bound on what a runaway answer costs."""

THINKING_TOKENS = 8192
"""The same for a model that thinks first; what is not used is not paid for."""

PARAMETERS = (
    "temperature", "top_p", "top_k", "max_tokens", "stop", "reasoning_effort", "service_tier", "extra",
)  # fmt: skip
"""Names of the parameters of requests that a study, or a command, may give a model."""

JUDGE_MAX_TOKENS = 256
"""Default limit of a judge's reply: a sentence and the outcome, with room to spare."""

JUDGE_THINKING_TOKENS = 4096
"""The same for a judge that thinks first."""


def answer_params(model: str, given: Mapping[str, Any], settings: Settings | None = None) -> Params:
    """Parameters of the model under test: those given, those set for it, and a limit that fits it."""
    return params_for(model, given, settings, limit=MAX_TOKENS, thinking_limit=THINKING_TOKENS)


def panel_params(judges: Sequence[str], given: Mapping[str, Any], settings: Settings | None = None) -> Params:
    """Parameters of a panel's judges: those given, and a limit that fits all of them; a judge alone has its own."""
    limits = {"limit": JUDGE_MAX_TOKENS, "thinking_limit": JUDGE_THINKING_TOKENS}
    found = [params_for(judge, given, settings, **limits) for judge in judges if judge != screen.NAME]
    if len(found) == 1:
        return found[0]
    return Params(**{**given, "max_tokens": max((each.max_tokens or 0 for each in found), default=JUDGE_MAX_TOKENS)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Which part of a benchmark to ask; None leaves nothing out. A smaller slice is contained in a larger one.

    Numbers are of the first roles of each attribute, and of the first questions of each kind of a role.
    """

    attributes: tuple[Attribute, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    roles_per_attribute: PositiveInt | None = None
    questions_per_kind: PositiveInt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The judges of why answers."""

    judges: tuple[str, ...]  #: full names of models, or "local/screen" alone
    votes: int | None = None  #: votes asked of each; None means three of a single judge, one of each judge of several
    #: how sure the local judge must be to decide an answer without the others; None leaves it out
    screen: float | None = None
    prompt: str = "codebook"  #: what the judges are asked: "codebook", or "fairness" as in the published study
    params: Params = field(default_factory=Params)  #: their parameters; without a limit, `panel_params` sets one
    seed: int = 0  #: start of the seeds of their requests

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.params.max_tokens is None:
            limit = panel_params(self.judges, {}).max_tokens
            object.__setattr__(self, "params", replace(self.params, max_tokens=limit))
        if not self.judges:
            raise InputError("a panel needs a judge: a model such as openai/gpt-6-luna, or local/screen")
        if len(set(self.judges)) != len(self.judges):
            raise InputError("each judge of a panel is named once; --votes asks one judge several times")
        if self.votes is not None and self.votes < 1:
            raise InputError(f"votes must be at least 1, not {self.votes}")
        if screen.NAME in self.judges:
            if len(self.judges) > 1:
                raise InputError(
                    f"{screen.NAME} judges alone, or first: --screen 0.95 lets it decide where it is confident, and "
                    "the other judges the rest"
                )
            if self.screen is not None or self.votes not in (None, 1):
                raise InputError(f"{screen.NAME} gives every answer one verdict; it takes neither --screen nor --votes")
        if self.screen is not None and not 0.5 < self.screen < 1:
            raise InputError(f"screen: {self.screen} is not between 0.5 and 1; 0.95 is usual")
        if self.prompt not in JUDGE_PROMPTS:
            raise InputError(f"there is no judge prompt {self.prompt!r}; there are {', '.join(JUDGE_PROMPTS)}")

    @property
    def name(self) -> str:
        """How the panel is called in run files and reports.

        >>> Panel(judges=("openai/a",), votes=5, screen=0.95).name
        'openai/a x5 after local/screen 3 at 0.95'
        """
        if self.screened_only:
            return screen.load().name
        name = ", ".join(self.judges)
        if self.votes_per_judge != (3 if len(self.judges) == 1 else 1):
            name += f" x{self.votes_per_judge}"
        if self.prompt != "codebook":
            name += f" ({self.prompt} prompt)"
        return name if self.screen is None else f"{name} after {screen.load().name} at {self.screen:g}"

    @property
    def votes_per_judge(self) -> int:
        """Votes asked of each judge."""
        return self.votes if self.votes is not None else (3 if len(self.judges) == 1 else 1)

    @property
    def screened_only(self) -> bool:
        """Whether the local judge decides everything."""
        return self.judges == (screen.NAME,)

    @property
    def models(self) -> tuple[str, ...]:
        """The judges that are asked as chat models."""
        return () if self.screened_only else self.judges

    def ballot(self, judge: str) -> str:
        """Identity of the votes of one judge: panels that ask it in the same way share them."""
        params = replace(self.params, seed=None).record()
        return content_hash("vote", judge, params, judge_template_hash(self.prompt), self.seed)

    def record(self) -> dict[str, Any]:
        """What a run file records: all that is needed to repeat the votes."""
        known: dict[str, Any] = {
            "judges": list(self.judges),
            "votes": 1 if self.screened_only else self.votes_per_judge,
        }
        if self.models:
            known |= {
                "prompt": self.prompt,
                "prompt_hash": judge_template_hash(self.prompt),
                "params": self.params.record(),
                "seed": self.seed,
            }
        if self.screened_only or self.screen is not None:
            known["screen"] = {"name": screen.load().name, "sure": self.screen}
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """An evaluation of one model."""

    model: str  #: full name: "openai/gpt-6-luna"
    run: Path  #: the run file; see `default_run`
    #: folder of the benchmark, None for the shipped one, and the part of it to ask
    benchmark: Path | None = None
    slice: Slice = field(default_factory=Slice)
    conditions: tuple[Condition, ...] = (Condition.ROLE,)  #: who the model is told to be
    trials: int = 3  #: how often each question is asked, independently
    panel: Panel | None = None  #: who judges the why answers; None leaves them unjudged, which `judge` can do later
    #: parameters of the model under test; without a limit, `answer_params` sets one
    params: Params = field(default_factory=Params)
    seed: int = 0  #: start of every random choice: option order, and the requests' seeds where the provider takes one
    #: permute the groups of a choice question in each trial, the abstaining option staying last
    shuffle_options: bool = False
    #: system message of one's own, before the one that gives the model its role; None for none
    system: str | None = None
    #: limit of tokens with which answers that were cut off are asked again; None leaves them as they are
    retry_cut: int | None = None
    #: folder with templates of one's own (`prompting.ASK_TEMPLATES`); None for the shipped ones
    prompts: Path | None = None
    #: which part of the plan to ask, and of how many: (3, 16); every part is as good as random. None for all of it
    shard: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense, and let a condition named twice be one."""
        object.__setattr__(self, "conditions", tuple(dict.fromkeys(self.conditions)))
        if self.params.max_tokens is None:
            limit = answer_params(self.model, self.params.record()).max_tokens
            object.__setattr__(self, "params", replace(self.params, max_tokens=limit))
        for name, value in (
            ("trials", self.trials),
            ("retry cut", self.retry_cut),
            ("roles per attribute", self.slice.roles_per_attribute),
            ("questions per kind", self.slice.questions_per_kind),
        ):
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if self.shard is not None and not 1 <= self.shard[0] <= self.shard[1]:
            raise InputError(f"shard {self.shard[0]}/{self.shard[1]}: the shards of a plan are 1/N to N/N")
        if self.system is not None and not self.system.strip():
            raise InputError("the system message is empty; leave it out, or say something")
        if not self.conditions:
            raise InputError("an evaluation needs at least one condition: role, no_role or neutral_role")

    def in_shard(self, key: str) -> bool:
        """Whether a response is in the part of the plan that is asked."""
        return self.shard is None or int(key[-8:], 16) % self.shard[1] == self.shard[0] - 1

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges that are asked as chat models."""
        return () if self.panel is None else self.panel.models

    @property
    def params_record(self) -> dict[str, object]:
        """The sampling parameters as they enter keys and the record of the run."""
        return self.params.record()


@dataclass(frozen=True, slots=True)
class Task:
    """One model to evaluate, and how fast to ask it and its judges."""

    spec: Spec
    pace: Pace
    judge_pace: Pace


def default_run(folder: Path, model: str) -> Path:
    """Run file of a model when none is named: its name made safe, in `folder`.

    >>> default_run(Path("runs"), "together/meta-llama/Llama-3-8b-chat-hf").name
    'together-meta-llama-Llama-3-8b-chat-hf.sqlite'
    """
    return folder / (safe_name(model) + ".sqlite")


def shard_file(run: Path, shard: tuple[int, int] | None) -> Path:
    """Run file of a shard, beside that of the whole."""
    return run if shard is None else run.with_name(f"{run.stem}-{shard[0]}of{shard[1]}{run.suffix}")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def some(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


class _Model(_Table):
    name: str
    run: Path | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: PositiveInt | None = None
    max_tokens: PositiveInt | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    service_tier: str | None = None
    extra: dict[str, Any] = {}
    retry_cut: PositiveInt | None = None
    concurrency: PositiveInt = 16
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None


class _Study(_Table):
    models: tuple[_Model, ...]
    benchmark: Path | None = None
    slice: Slice = Slice()
    conditions: tuple[Condition, ...] = (Condition.ROLE,)
    trials: Annotated[int, Field(ge=1, le=1_000)] = 3
    judges: tuple[str, ...] = ()
    judge_max_tokens: PositiveInt | None = None
    judge_reasoning_effort: str | None = None
    judge_concurrency: PositiveInt = 16
    judge_requests_per_minute: PositiveFloat | None = None
    judge_tokens_per_minute: PositiveFloat | None = None
    votes: PositiveInt | None = None
    screen: float | None = None
    judge_prompt: str = "codebook"
    seed: NonNegativeInt = 0
    shuffle_options: bool = False
    system: str | None = None
    prompts: Path | None = None
    runs: Path | None = None


def read_study(path: Path, *, runs: Path, settings: Settings | None = None) -> list[Task]:
    """Read a study file, TOML; relative paths in it start from the working directory.

    `runs` is the folder of the run files where the study names none; the settings may hold parameters of the models.
    What a study cannot say is an InputError that names the place.
    """
    try:
        values = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        study = _Study.model_validate(values)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a study file, such as examples/study.toml") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: not a TOML file: nested too deep") from error
    except ValidationError as error:
        raise InputError(f"{path}: {_fault(values, error.errors()[0])}") from error
    if not study.models:
        raise InputError(f"{path}: a study needs at least one [[models]] entry")
    tasks = [_task(study, model, study.runs or runs, settings) for model in study.models]
    files = [task.spec.run for task in tasks]
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two models would share the run file {twice}; give one of them another `run`")
    return tasks


def _fault(values: Mapping[str, Any], error: ErrorDetails) -> str:
    """What is wrong where, and what is allowed there."""
    allowed, place, (name, *rest) = list(_Study.model_fields), "the study", error["loc"]
    if name == "slice" and rest:
        allowed, place, (name, *rest) = [field.name for field in fields(Slice)], "[slice]", rest
    elif name == "models" and len(rest) > 1:
        entry, place = values["models"][rest[0]], f"[[models]] {int(rest[0]) + 1}"
        if isinstance(entry, dict) and "name" in entry:
            place += f" ({entry['name']})"
        allowed, (_, name, *rest) = list(_Model.model_fields), rest
    if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{place}: there is no setting {name!r}; allowed: {', '.join(allowed)}"
    if error["type"] == "missing":
        return f"{place}: {name} is missing"
    said = error["msg"][0].lower() + error["msg"][1:]
    return f"{place}: {name}: {said}" + ("" if name == "models" and not rest else f", not {error['input']!r}")


def _task(study: _Study, model: _Model, runs: Path, settings: Settings | None) -> Task:
    panel = None
    if study.judges:
        given = {"max_tokens": study.judge_max_tokens, "reasoning_effort": study.judge_reasoning_effort}
        params = panel_params(study.judges, given, settings)
        panel = Panel(prompt=study.judge_prompt, params=params, **study.some("judges", "votes", "screen", "seed"))
    spec = Spec(
        model=model.name,
        run=model.run or default_run(runs, model.name),
        retry_cut=model.retry_cut,
        panel=panel,
        params=answer_params(model.name, model.some(*PARAMETERS), settings),
        **study.some("benchmark", "slice", "conditions", "trials", "seed", "shuffle_options", "system", "prompts"),
    )
    limits = ("concurrency", "requests_per_minute", "tokens_per_minute")
    judge_pace = Pace(*study.some(*(f"judge_{name}" for name in limits)).values())
    return Task(spec, Pace(**model.some(*limits)), judge_pace)
