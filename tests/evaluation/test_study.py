"""Study files."""

from __future__ import annotations

from pathlib import Path

import pytest

from biaslens.errors import InputError
from biaslens.evaluation.spec import read_study
from biaslens.schema import Attribute, Condition

EXAMPLE = Path(__file__).parents[2] / "examples" / "study.toml"


def study(tmp_path: Path, text: str):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_study(path, runs=Path("runs"))


def test_every_model_gets_the_study_s_design(tmp_path: Path):
    tasks = study(
        tmp_path,
        """
        conditions = ["role", "no_role"]
        trials = 5
        judges = ["openai/j"]
        judge_requests_per_minute = 30
        [slice]
        attributes = ["age"]
        [[models]]
        name = "openai/a"
        temperature = 0.5
        requests_per_minute = 60
        [[models]]
        name = "local/b"
        run = "elsewhere/b.sqlite"
        """,
    )
    assert [task.spec.model for task in tasks] == ["openai/a", "local/b"]
    assert [task.spec.run for task in tasks] == [Path("runs/openai-a.sqlite"), Path("elsewhere/b.sqlite")]
    assert {task.spec.conditions for task in tasks} == {(Condition.ROLE, Condition.NO_ROLE)}
    assert tasks[0].spec.slice.attributes == (Attribute.AGE,)
    assert (tasks[0].spec.params.temperature, tasks[1].spec.params.temperature) == (0.5, None)
    assert (tasks[0].pace.requests_per_minute, tasks[1].pace.requests_per_minute) == (60, None)
    assert tasks[1].judge_pace.requests_per_minute == 30


def test_the_judges_are_those_named(tmp_path: Path):
    (task,) = study(
        tmp_path,
        """
        judges = ["openai/j"]
        votes = 1
        screen = 0.9
        judge_prompt = "fairness"
        seed = 3
        [[models]]
        name = "openai/a"
        """,
    )
    assert task.spec.panel is not None
    assert task.spec.panel.name == "openai/j x1 (fairness prompt) after local/screen 3 at 0.9"
    assert task.spec.panel.seed == 3


def test_the_example_holds_the_six_models():
    assert len(read_study(EXAMPLE, runs=Path("runs"))) == 6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models = [", "not a TOML file"),
        ("trials = 3", "the study: models is missing"),
        ("models = []", "at least one"),
        (
            '[[models]]\nname = "openai/a"\nspeed = 3',
            r"\[\[models\]\] 1 \(openai/a\): there is no setting 'speed'; allowed: name, run, temperature, top_p,",
        ),
        (
            '[slice]\nrole = 3\n[[models]]\nname = "openai/a"',
            r"\[slice\]: there is no setting 'role'; allowed: attributes,",
        ),
        ("[[models]]\nspeed = 3", r"\[\[models\]\] 1: name is missing"),
        (
            'conditions = ["alien"]\n[[models]]\nname = "openai/a"',
            r"conditions: input should be 'role', .* not 'alien'",
        ),
        ('trials = 0\n[[models]]\nname = "openai/a"', "trials: input should be greater than or equal to 1, not 0"),
        ('[[models]]\nname = "openai/a"\n[[models]]\nname = "openai/a"', "share the run file"),
        ('judges = ["openai/j"]\nscreen = 0.3\n[[models]]\nname = "openai/a"', "0.3 is not between 0.5 and 1"),
        ('judges = ["openai/j"]\njudge_prompt = "kind"\n[[models]]\nname = "openai/a"', "no judge prompt 'kind'"),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path: Path, text: str, says: str):
    with pytest.raises(InputError, match=says) as caught:
        study(tmp_path, text)
    assert "\n" not in str(caught.value)
