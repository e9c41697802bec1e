"""`biaslens --help`: what it lists, and that it imports next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command import biaslens

import biaslens as package
from biaslens.cli import IMPORT_SECTIONS, PROBE_SECTIONS, SECTIONS, Lazy, app

HEAVY = {
    "asyncio", "httpx", "jinja2", "matplotlib", "numpy", "openai", "pandas", "pyarrow", "pydantic", "pydantic_settings",
    "rich", "scipy", "sqlite3", "torch", "tqdm", "biaslens.oracles", "biaslens.settings",
}  # fmt: skip
COMMANDS = {
    " ".join(path): lazy
    for path, sections in (((), SECTIONS), (("probe",), PROBE_SECTIONS), (("import",), IMPORT_SECTIONS))
    for section in sections.values()
    for path, lazy in (((*path, name), lazy) for name, lazy in section.items())
}


def imported_by(*arguments: str) -> set[str]:
    """Modules that a process of its own has imported by the end of a command."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        "from biaslens.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_it_imports_nothing_heavy(option: str):
    found = imported_by(option)
    assert "biaslens.cli" in found
    assert found.isdisjoint(HEAVY)


def test_asking_needs_no_pandas_and_no_scipy():
    assert imported_by("evaluate", "--help").isdisjoint({"pandas", "scipy", "matplotlib"})


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_line_of_its_own_help(name: str):
    lazy: Lazy = COMMANDS[name]
    command = lazy.load()
    assert isinstance(command, click.Command)
    assert command.name == name.split()[-1]
    assert command.help is not None
    assert command.help.splitlines()[0] == f"{lazy.summary}."


@pytest.mark.parametrize("arguments", [["--help"], ["probe", "--help"]])
def test_each_command_has_one_line_of_80_columns(arguments: list[str]):
    lines = biaslens(*arguments, COLUMNS="80").stdout.splitlines()
    for name, lazy in COMMANDS.items():
        if name.split()[:-1] == arguments[:-1]:
            (line,) = (line for line in lines if line.startswith(f"  {name.split()[-1]} "))
            assert line.endswith(f" {lazy.summary}")
    assert max(map(len, lines)) <= 80


def test_commands_stand_under_headings():
    text = biaslens("--help").stdout
    places = [text.index(f"\n{heading}:\n") for heading in SECTIONS]
    assert places == sorted(places)
    assert list(SECTIONS) == ["Evaluate", "Judge", "Analyse and publish", "Benchmark", "Use case", "Probe"]


def test_an_unknown_command_is_wrong_usage():
    done = biaslens("evalute")
    assert done.returncode == 2
    assert "No such command 'evalute'" in done.stderr
    assert app.get_command(click.Context(app), "evalute") is None


def test_the_package_s_public_names_are_found_where_type_checkers_find_them():
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(homes) == set(package.__all__) <= set(dir(package))
    for name, (module, there) in homes.items():
        __import__(module)
        assert getattr(package, name) is getattr(sys.modules[module], there)
    with pytest.raises(AttributeError, match="module 'biaslens' has no attribute 'nothing'"):
        getattr(package, "nothing")  # noqa: B009 - as an attribute it would be a useless expression
