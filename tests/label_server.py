"""A command that serves a page, in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from command import COMMAND, environment


@contextmanager
def annotating(folder: Path, name: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the labelling page."""
    with serving("annotate", str(folder), "--as", name, *more) as started:
        yield started


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a command, and give the process and the address it prints; it is killed at the end."""
    command = [*COMMAND, *arguments, "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment()
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdout.readline()
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield process, address
    finally:
        process.kill()
        process.communicate()


def origin_of(address: str) -> str:
    return address.partition("/?")[0]


@contextmanager
def visiting(address: str, *, accept: bool = True) -> Iterator[httpx.Client]:
    """A browser without scripts that has opened the address and, unless told not to, accepted the warning."""
    origin = origin_of(address)
    with httpx.Client(base_url=origin, headers={"Origin": origin}, follow_redirects=True) as client:
        client.get(address).raise_for_status()
        if accept:
            client.post("/accept").raise_for_status()
        yield client
