"""What the pages say in their text: commands and options that exist, links that lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest
from pages import PAGES, anchors, links, name_of, spans

from biaslens.cli import app

_PLACEHOLDER = "COMMAND"


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


def unknown_options(span: str) -> set[str]:
    """Options that are named in the text and that the command named there, or any, does not have."""
    words = span.split()
    known = OPTIONS
    if words[0] == "biaslens" and words[1] != _PLACEHOLDER:
        command = COMMANDS.get(tuple(words[1:3])) or COMMANDS.get(tuple(words[1:2]))
        assert command is not None, f"there is no command {words[1]}"
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    return {word for word in words if word.startswith("--")} - known - {"--help"}


def fault(page: Path, link: str) -> str | None:
    """What is wrong with a link; of other sites only the form is looked at."""
    target = urlsplit(link)
    if target.scheme:
        return None if target.scheme == "https" and target.netloc else f"{link}: no address of the web"
    file = page if not target.path else (page.parent / unquote(target.path)).resolve()
    if not file.exists():
        return f"{link}: no such file"
    if target.fragment and target.fragment not in anchors(file):
        return f"{link}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_options_in_the_text_exist(page: Path):
    named = {span for span in spans(page) if re.match(r"biaslens \w|--\w", span)}
    assert {span: unknown_options(span) for span in named if unknown_options(span)} == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path):
    assert [found for link in links(page) if (found := fault(page, link))] == []


def test_what_is_wrong_in_a_text_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One page\n`biaslens report RUN --turbo` [a](#one-page) [b](#two) [c](c.md) [d](ftp://d) ![e](e.png)\n"
    )
    assert [unknown_options(span) for span in spans(page)] == [{"--turbo"}]
    assert [fault(page, link) for link in links(page)] == [
        None, "#two: no such heading", "c.md: no such file", "ftp://d: no address of the web", "e.png: no such file",
    ]  # fmt: skip
