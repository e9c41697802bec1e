"""The pages that people read, as Markdown parses them: blocks, code in the text, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md")),
    *DOCS,
    *(ROOT / folder / "README.md" for folder in ("results", "labels", "examples/usecase", "benchmark")),
    ROOT / "screen" / "CARD.md",
]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """What stands apart on a page: indented text has no language."""

    language: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Its command lines, those that go on over several joined."""
        return [line.strip() for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


@cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[Block]:
    return [Block(token.info, token.content) for token in _tokens(page) if token.type in ("code_block", "fence")]


def spans(page: Path) -> Iterator[str]:
    """Code in the text."""
    return (token.content for token in _inline(page) if token.type == "code_inline")


def links(page: Path) -> Iterator[str]:
    """Targets of links and of pictures."""
    for token in _inline(page):
        target = token.attrGet("href" if token.type == "link_open" else "src")
        if isinstance(target, str):
            yield target


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a link may name behind "#": headings as GitHub and MyST write them."""
    tokens = _tokens(page)
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def _inline(page: Path) -> Iterator[Token]:
    for token in _tokens(page):
        yield from token.children or ()
