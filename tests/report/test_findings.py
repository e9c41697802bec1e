"""What was found, in sentences: as much as the numbers say, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from run_files import Asked, write_run

from biaslens.analysis import read_run
from biaslens.report.analyses import Analyses
from biaslens.report.findings import of_model, of_models

BIASED, UNBIASED = ("biased",) * 3, ("unbiased",) * 3


def analysed(folder: Path, *models: Sequence[Asked]) -> Analyses:
    paths = [
        write_run(folder / f"{number}.sqlite", asked, model=f"openai/m{number}", conditions=["role", "no_role"])
        for number, asked in enumerate(models)
    ]
    return Analyses([read_run(path) for path in paths], force=True)


def asked(role_rate: int, other_rate: int, *, kind: str = "yes_no", roles: int = 12) -> list[Asked]:
    """Of twelve questions to each role `role_rate` are biased with it and `other_rate` without.

    To a third of the roles it is one more, to a third one fewer, where there are any.
    """
    return [
        Asked(
            "age" if role % 2 else "race", f"Role {role:02}", kind,
            BIASED if (7 * number + role) % 12 < rate + (role % 3 - 1) * (rate > 0) else UNBIASED,
            condition=condition, number=number,
            groups=(f"a{number} {role}", f"b{number} {role}"), target="age",
            options=("x", "y", "z") if kind == "choice" else (),
        )
        for role in range(roles)
        for number in range(12)
        for condition, rate in (("role", role_rate), ("no_role", other_rate))
    ]  # fmt: skip


def test_what_the_role_adds_and_which_kind_drives_it(tmp_path):
    # Yes/no: 3 of 12 with the role, 0 without; choice: 9 and 6. So 12 of 24 and 6 of 24: 25 points.
    analyses = analysed(tmp_path, [*asked(3, 0), *asked(9, 6, kind="choice")])
    rate, role, kinds, roles = of_model(analyses, "openai/m0")
    assert rate.startswith("openai/m0 was biased in 50.0 % (") and rate.endswith(
        "of its 864 valid answers playing the roles."
    )
    assert role.startswith("Beside no role, playing a role adds 25.0 points (")
    assert kinds == "Choice questions drive it (75.0 %); yes/no questions show the least (25.0 %)."
    assert roles == "None of the 12 roles stands out from the mean of all."


def test_what_cannot_be_told_is_said(tmp_path):
    analyses = analysed(tmp_path, asked(4, 4), asked(4, 4))
    assert (
        "Whether a role changes the rate cannot be told: beside no role it is +0.0 points"
        in of_model(analyses, "openai/m0")[1]
    )
    assert of_models(analyses)[-1] == "The two cannot be told apart."


def test_models_that_differ(tmp_path):
    analyses = analysed(tmp_path, asked(2, 2), asked(10, 2), asked(2, 2))
    found = of_models(analyses)
    assert found[0].endswith(
        "that all 3 models answered, rates go from 16.7 % (openai/m0) to 83.3 % (openai/m1)."
    ) or found[0].endswith("from 16.7 % (openai/m2) to 83.3 % (openai/m1).")
    assert found[1] == "1 pair of 3 cannot be told apart."


def test_a_role_that_stands_out_is_named(tmp_path):
    loud = [
        Asked("age", "Loud", "yes_no", BIASED, number=n, groups=(f"c{n}", f"d{n}"), target="age") for n in range(40)
    ]
    found = of_model(analysed(tmp_path, [*asked(1, 1), *loud]), "openai/m0")
    assert found[-1].startswith("Of 13 roles, read first: Loud (")


def test_low_coverage_comes_before_everything_but_the_rate(tmp_path):
    lost = [Asked("age", f"Role {n}", "yes_no", ("biased", "invalid", "invalid"), number=n) for n in range(6)]
    found = of_model(analysed(tmp_path, lost), "openai/m0")
    assert found[1] == "Only 33.3 % of the planned answers are valid: the rate speaks for these alone."


def test_nothing_is_said_of_nothing(tmp_path):
    assert of_model(analysed(tmp_path, []), "openai/m0") == ["Nothing was asked yet."]
    (tmp_path / "more").mkdir()
    unasked = analysed(tmp_path / "more", [Asked("age", "Role", "yes_no", ("unasked",))])
    assert of_model(unasked, "openai/m0") == ["None of the 1 planned answers playing the roles is valid yet."]
    assert of_models(unasked) == []
