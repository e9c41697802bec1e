"""The ground floor: what every part needs and none of them owns."""

import ast
import gc
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from sys import modules
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


def named(name: str, doc: str, function: Callable[..., T], *args: object, **options: object) -> partial[T]:
    """A partial function with the name and the docstring that `help`, and a loop over functions, look for."""
    made = partial(function, *args, **options)
    vars(made).update(__name__=name, __doc__=doc)
    return made


def in_columns(rows: Iterable[tuple[Any, ...]], chunk: int = 20_000) -> Iterator[list[tuple[Any, ...]]]:
    """Turn rows into columns, so many at a time.

    >>> list(in_columns([(1, "a"), (2, "b"), (3, "c")], 2))
    [[(1, 2), ('a', 'b')], [(3,), ('c',)]]
    """
    left = iter(rows)
    while taken := list(islice(left, chunk)):
        yield list(zip(*taken, strict=True))


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no garbage meanwhile; for what makes very many objects and no circles, a fifth faster then."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def lazily(package: str, stub: Path) -> tuple[list[str], Callable[[str], object]]:
    """Make the ``__all__`` and ``__getattr__`` of a package whose names are imported when they are first used.

    The stub beside it, which type checkers read, says which module each name is from. So the command line starts
    without the libraries that most commands do not need.
    """
    tree = ast.parse(stub.with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        found: object = getattr(import_module(module), attribute)
        setattr(modules[package], name, found)
        return found

    shadowed = {name for name, (module, _) in homes.items() if module == f"{package}.{name}"}
    if shadowed:
        modules[package].__class__ = type("Package", (_Package,), {"_shadowed": frozenset(shadowed)})
    return sorted(homes), get


class _Package(ModuleType):
    """A package with names that modules of it have, too: a module that is imported does not take the name's place."""

    _shadowed: frozenset[str]

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in self._shadowed and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def start_ray() -> None:
    """Connect to the Ray cluster, or start one here; quietly, and without a report of the run to anybody."""
    import ray

    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)


@contextmanager
def at_ray() -> Iterator[None]:
    """Start Ray; what it prints to stdout of workers that die goes to stderr meanwhile, for stdout is for results."""
    with redirect_stdout(sys.stderr):
        start_ray()
        yield
