"""Archives that unpack to more than any release are refused before they fill memory or disk."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from biaslens.errors import BenchmarkError
from biaslens.replication import release
from biaslens.replication.release import published_questions, unpacked


def archive(path: Path, member: str, size: int, mode: str) -> Path:
    with tarfile.open(path, mode) as file:
        info = tarfile.TarInfo(member)
        info.size = size
        file.addfile(info, io.BytesIO(bytes(size)))
    return path


@pytest.mark.parametrize("kind", ["", "gz", "xz", "bz2"])
def test_an_archive_that_unpacks_to_too_much_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "LARGEST_ARCHIVE", 100_000)
    path = archive(tmp_path / "a.tar", "other/padding.bin", 200_000, f"w:{kind}")
    with pytest.raises(BenchmarkError, match="unpacks to more than 100,000 bytes"), unpacked(path) as roots:
        list(roots)
    with pytest.raises(BenchmarkError, match="unpacks to more than 100,000 bytes"):
        published_questions(path)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "LARGEST_MEMBER", 1_000)
    path = archive(tmp_path / "a.tar.gz", "answers/role/m/age_answers_01.csv", 2_000, "w:gz")
    with pytest.raises(BenchmarkError, match="larger than 1,000 bytes"), unpacked(path) as roots:
        list(roots)


def test_one_within_the_bounds_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", "answers/role/m/age_answers_01.csv", 2_000, "w:gz")
    with unpacked(path) as roots:
        assert [(root / "answers/role/m/age_answers_01.csv").stat().st_size for root in roots] == [2_000]
