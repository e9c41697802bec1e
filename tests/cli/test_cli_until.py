"""Evaluations that end when the rate is known well enough."""

import pytest
from run_files import Asked, write_run

from biaslens.cli.planning import LOOKS, evaluate_until
from biaslens.engine import Pace
from biaslens.errors import InputError
from biaslens.evaluation import Evaluation, Spec, Task
from biaslens.schema import Attribute


def task(tmp_path, **more):
    return Task(Spec(model="local/x", run=tmp_path / "run.sqlite", **more), Pace(), Pace())


class Asking:
    """Stands for the engine: writes a run of so many roles of each attribute, every other role biased."""

    def __init__(self, *, biased=2, most=50, missing=0):
        self.looks, self._biased, self._most, self._missing = [], biased, most, missing

    def __call__(self, tasks):
        return [self._evaluate(one.spec) for one in tasks]

    def _evaluate(self, spec):
        roles = min(spec.slice.roles_per_attribute or self._most, self._most)
        self.looks.append(roles)
        asked = [
            Asked(attribute, f"Role {number}", "yes_no", ("biased" if number % self._biased == 0 else "unbiased",) * 3)
            for attribute in Attribute
            for number in range(roles)
        ]
        spec.run.unlink(missing_ok=True)
        write_run(spec.run, asked)
        return Evaluation(
            run=spec.run, planned=len(asked), missing=self._missing, unjudged=0, answered=3, failed=0,
            interrupted=False, cost=0.5, why_failed="",
        )  # fmt: skip


def test_it_ends_at_the_first_look_where_the_rate_is_known(tmp_path, capsys):
    asking = Asking()
    (found,) = evaluate_until([task(tmp_path)], 20, asking)
    assert asking.looks == list(LOOKS[: len(asking.looks)])
    assert 1 < len(asking.looks) < len(LOOKS)
    assert capsys.readouterr().err.splitlines()[-1].endswith("enough")
    # Answers and costs of all sessions.
    assert (found.answered, found.cost) == (3 * len(asking.looks), 0.5 * len(asking.looks))


def test_a_margin_out_of_reach_asks_all(tmp_path):
    asking = Asking(most=9)
    evaluate_until([task(tmp_path)], 0.1, asking)
    # At 12 of each nothing new was planned.
    assert asking.looks == [1, 2, 3, 5, 8, 9, 9]


def test_the_slice_is_the_most_that_is_asked(tmp_path):
    from biaslens.evaluation.spec import Slice

    asking = Asking()
    evaluate_until([task(tmp_path, slice=Slice(roles_per_attribute=3))], 0.1, asking)
    assert asking.looks == [1, 2, 3, 3]


def test_an_incomplete_run_is_not_asked_further(tmp_path):
    asking = Asking(missing=1)
    evaluate_until([task(tmp_path)], 0.1, asking)
    assert asking.looks == [1]


def test_a_refused_model_ends_alone(tmp_path):
    asking, refused = Asking(most=2), InputError("no such model")
    tasks = [task(tmp_path), Task(Spec(model="local/y", run=tmp_path / "other.sqlite"), Pace(), Pace())]

    def evaluate(given):
        return [refused if one.spec.model == "local/y" else asking([one])[0] for one in given]

    found = evaluate_until(tasks, 0.1, evaluate)
    assert found[1] is refused
    assert asking.looks == [1, 2, 2]


@pytest.mark.parametrize("points", ["0", "51"])
def test_a_margin_is_a_number_of_points(points):
    from command import biaslens

    done = biaslens("evaluate", "local/x", "--until-margin", points)
    assert done.returncode == 2
    assert "--until-margin" in done.stderr
