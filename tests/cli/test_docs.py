"""What README and docs say: every command line is one that the command line takes; nothing is run."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from biaslens.cli import app
from biaslens.models import ChatModel, Message, Params
from biaslens.settings import load_settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
PAGES += [ROOT / folder / "README.md" for folder in ("results", "labels", "examples/usecase")]

_COMMAND = re.compile(r"^ {4}(biaslens .+)$", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_PLACEHOLDER = "COMMAND"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8").replace("\\\n", " ")


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield (*path, name), command
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))


COMMANDS = dict(commands(app))
OPTIONS = {
    option
    for command in COMMANDS.values()
    for parameter in command.params
    for option in (*parameter.opts, *parameter.secondary_opts)
} | {"--help", "--version"}


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that a line names, and the words behind its name."""
    for length in (2, 1):
        if (command := COMMANDS.get(tuple(words[:length]))) is not None:
            return command, words[length:]
    raise AssertionError(f"there is no command {words[0]}")


LINES = [
    pytest.param(line, id=f"{page.relative_to(ROOT)}: {line.split('  ')[0]}")
    for page in PAGES
    for line in dict.fromkeys(_COMMAND.findall(text_of(page)))
]
SPANS = [
    pytest.param(span, id=f"{page.relative_to(ROOT)}: {span}")
    for page in PAGES
    for span in dict.fromkeys(_SPAN.findall(text_of(page)))
    if span.startswith("biaslens ") or re.match(r"--\w", span)
]


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_is_one_that_can_be_given(line: str):
    command, rest = command_of(shlex.split(line, comments=True)[1:])
    assert not isinstance(command, click.Group), "names a group without its command"
    with command.make_context(command.name, rest):  # raises a usage error; the command is not invoked
        pass


@pytest.mark.parametrize("span", SPANS)
def test_a_command_or_option_in_the_text_exists(span: str):
    words = span.split()
    if words[0] == "biaslens" and words[1] != _PLACEHOLDER:
        command, words = command_of(words[1:])
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    else:
        known = OPTIONS
    assert {word for word in words if word.startswith("--")} <= known | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path):
    targets = _LINK.findall(text_of(page))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_an_option_that_does_not_exist_is_found():
    command, rest = command_of(["judge", "x.sqlite", "--judge", "local/screen", "--no-such-option"])
    with pytest.raises(click.NoSuchOption), command.make_context("judge", rest):
        pass


def test_the_provider_of_one_s_own_that_is_shown_is_one():
    (shown,) = re.findall(r"```python\n(.*?)```", text_of(ROOT / "docs" / "extend.md"), re.DOTALL)
    made: dict[str, Any] = {}
    exec(shown, made)
    parrot: ChatModel = made["open_parrot"]("no", load_settings())
    answer = asyncio.run(parrot.complete([Message("user", "Is it so?")], Params()))
    assert (answer.text, parrot.name, parrot.max_concurrency, dict(parrot.runtime)) == (
        "No.",
        "parrot/no",
        None,
        {"version": "1"},
    )
