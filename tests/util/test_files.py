"""Files are written whole, on disk, and only where a regular file is or nothing."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from biaslens._util.files import _HOST, json_text, lock, replacing, write_text
from biaslens._util.text import cell, one_line, printable, safe_name, uncell
from biaslens.errors import BiasLensError, RunLockedError, StorageError


def test_a_file_is_there_as_a_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.txt"
    write_text(path, "one\r\n")
    assert path.read_bytes() == b"one\r\n"
    with pytest.raises(KeyError), replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert [file.name for file in path.parent.iterdir()] == ["a.txt"]
    assert path.read_text() == "one\n"


def test_a_file_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _: there.append((tmp_path / "a.txt").exists()))
    write_text(tmp_path / "a.txt", "one")
    assert there == [False, True]  # the file, and then the folder with its name


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "one")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"a\.txt: cannot be written \(No space left on device\); give another"):
        write_text(path, "two")
    assert path.read_text() == "one"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_no_regular_file_is_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link", Path(os.devnull)):
        with pytest.raises(StorageError, match="no regular file"):
            write_text(path, "one")
    assert pipe.is_fifo()
    for path in (tmp_path, tmp_path / "..", Path()):
        with pytest.raises(StorageError, match="is a folder"):
            write_text(path, "one")


def test_a_link_stays_one(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "one")
    (tmp_path / "link").symlink_to("a.txt")
    write_text(tmp_path / "link", "two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.txt").read_text() == "two"


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    held = lock(tmp_path / "deep" / ".lock", busy="busy here", hint="hint")
    with pytest.raises(RunLockedError, match="busy here"):
        lock(tmp_path / "deep" / ".lock", busy="busy here", hint="hint")
    held.release()
    lock(tmp_path / "deep" / ".lock", busy="busy here", hint="hint").release()


def test_json_has_no_nan() -> None:
    assert json.loads(json_text({"a": [math.nan, math.inf, 1.5], "b": (math.nan,)})) == {
        "a": [None, None, 1.5],
        "b": [None],
    }


@pytest.mark.parametrize("text", ["=1+1", "+1-2", "@sum(a1)", "-cmd|' /c calc'!A0", "\t=1", "＝1", "'=1"])
def test_a_formula_is_disarmed_and_comes_back(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert uncell(cell(text)) == text


@pytest.mark.parametrize("text", ["", "-0.25", "+1e-9", "plain", "a=b", "'quoted'"])
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_nothing_foreign_moves_the_cursor() -> None:
    text = "\x1b]0;title\x07\x9b2J\r\u202eevil\u2028 é 日本 👩\u200d🚀"
    assert not set(printable(text)) & set("\x1b\x07\x9b\r\u202e\u2028")
    assert printable(text).endswith(" é 日本 👩\u200d🚀")
    assert one_line("a\n\r\n b") == "a b"
    assert str(BiasLensError("one\n  \x1b[31mtwo")) == "one \\x1b[31mtwo"


def test_a_safe_name_leaves_its_folder_for_none() -> None:
    assert [safe_name(name) for name in ("../../etc/<b>", "🙂", "..", "a/b c")] == ["etc-b", "model", "model", "a-b-c"]


def test_what_a_killed_process_left_is_removed_at_the_next_write(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom biaslens._util.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.txt"], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    mine = tmp_path / f".a.txt.{_HOST}-{os.getppid()}.tmp"  # of a process that is still at work
    mine.touch()
    write_text(tmp_path / "a.txt", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", mine.name}
