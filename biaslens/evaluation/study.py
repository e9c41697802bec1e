"""A study: several models evaluated in the same way, described in one TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError
from pydantic_core import ErrorDetails

from biaslens.engine import Pace
from biaslens.errors import InputError
from biaslens.evaluation.spec import PARAMETERS, Panel, Slice, Spec, Task, answer_params, default_run, panel_params
from biaslens.schema import Condition
from biaslens.settings import Settings


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
