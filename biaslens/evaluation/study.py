"""A study: several models evaluated in the same way, described in one TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError
from pydantic_core import ErrorDetails

from biaslens.engine import Pace
from biaslens.errors import InputError
from biaslens.evaluation.spec import JUDGE_MAX_TOKENS, MAX_TOKENS, Panel, Slice, Spec, Task, default_run
from biaslens.models import Params
from biaslens.schema import Attribute, Condition, Kind


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Slice(_Table):
    attributes: tuple[Attribute, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    roles_per_attribute: PositiveInt | None = None
    questions_per_kind: PositiveInt | None = None


class _Model(_Table):
    name: str
    run: Path | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: PositiveInt = MAX_TOKENS
    concurrency: PositiveInt = 16
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None


class _Study(_Table):
    models: tuple[_Model, ...]
    benchmark: Path | None = None
    slice: _Slice = _Slice()
    conditions: tuple[Condition, ...] = (Condition.ROLE,)
    trials: Annotated[int, Field(ge=1, le=1_000)] = 3
    judges: tuple[str, ...] = ()
    judge_max_tokens: PositiveInt = JUDGE_MAX_TOKENS
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


def read_study(path: Path, *, runs: Path) -> list[Task]:
    """Read a study file, TOML; relative paths in it start from the working directory.

    `runs` is the folder of the run files where the study names none. What a study cannot say is an InputError that
    names the place.
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
    judge_pace = _pace(study, "judge_")
    tasks = [Task(_spec(study, model, study.runs or runs), _pace(model), judge_pace) for model in study.models]
    files = [task.spec.run for task in tasks]
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two models would share the run file {twice}; give one of them another `run`")
    return tasks


def _fault(values: Mapping[str, Any], error: ErrorDetails) -> str:
    """What is wrong where, and what is allowed there."""
    table: type[_Table] = _Study
    place, rest = "the study", list(error["loc"])
    if rest[0] == "slice" and len(rest) > 1:
        table, place = _Slice, "[slice]"
        rest = rest[1:]
    elif rest[0] == "models" and len(rest) > 2:
        number = int(rest[1])
        entry = values["models"][number]
        table, place = _Model, f"[[models]] {number + 1}"
        if isinstance(entry, dict) and "name" in entry:
            place += f" ({entry['name']})"
        rest = rest[2:]
    name = rest[0]
    if error["type"] == "extra_forbidden":
        return f"{place}: there is no setting {name!r}; allowed: {', '.join(table.model_fields)}"
    if error["type"] == "missing":
        return f"{place}: {name} is missing"
    said = error["msg"][0].lower() + error["msg"][1:]
    return f"{place}: {name}: {said}" + ("" if rest[1:] == [] and name == "models" else f", not {error['input']!r}")


def _spec(study: _Study, model: _Model, runs: Path) -> Spec:
    return Spec(
        model=model.name,
        run=model.run or default_run(runs, model.name),
        benchmark=study.benchmark,
        slice=Slice(**study.slice.model_dump()),
        conditions=study.conditions,
        trials=study.trials,
        panel=_panel(study),
        params=Params(temperature=model.temperature, top_p=model.top_p, max_tokens=model.max_tokens),
        seed=study.seed,
        shuffle_options=study.shuffle_options,
        system=study.system,
        prompts=study.prompts,
    )


def _panel(study: _Study) -> Panel | None:
    if not study.judges:
        return None
    return Panel(
        judges=study.judges,
        votes=study.votes,
        screen=study.screen,
        prompt=study.judge_prompt,
        params=Params(max_tokens=study.judge_max_tokens),
        seed=study.seed,
    )


def _pace(table: _Table, prefix: str = "") -> Pace:
    names = ("concurrency", "requests_per_minute", "tokens_per_minute")
    return Pace(**{name: getattr(table, prefix + name) for name in names})
