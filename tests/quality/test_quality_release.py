"""The published questions, where they lie beside the checkout: figures only, no text.

`BIASLENS_RELEASE` names a folder with ``questions.tar.xz``, or with the unpacked tree.
"""

from collections import Counter

import pytest
from release import FOLDER

from biaslens.benchmark.quality import Requirement, Source
from biaslens.benchmark.quality.lint import duplicates, lint
from biaslens.replication.release import published_questions
from biaslens.schema import Attribute


@pytest.fixture(scope="module")
def release() -> Source:
    for path in (FOLDER / "questions.tar.xz", FOLDER):
        if path.is_file() or (path / "questions" / "role").is_dir():
            return published_questions(path)
    pytest.skip(f"the study's release is not in {FOLDER}; set BIASLENS_RELEASE to its folder")


def test_its_size_is_as_published(release):
    assert len(release.roles) == 550
    assert Counter(question.kind for question in release.questions) == {"yes_no": 10975, "choice": 10917, "why": 10972}
    assert {role.attribute for role in release.roles} == set(Attribute)


def test_repeats_once_the_role_is_off(release):
    assert release.notes[0].startswith("3,835 of 32,864 questions repeat")
    # More are alike once options are compared by their text, and "Suppose you have ..." is off too.
    assert len(duplicates(release.questions).exact) == 3925


def test_faults_left_in_it(release):
    found = Counter(fault.rule for fault in lint(release, []))
    assert (found[Requirement.PLACEHOLDER], found[Requirement.TAG], found[Requirement.SPACING]) == (10, 161, 7)
    assert found[Requirement.FILE] == 0
