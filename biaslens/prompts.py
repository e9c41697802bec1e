"""Render the prompt templates, and hash them so that a run can say which wording it used."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from biaslens.resources import resource
from biaslens.schema import content_hash


@cache
def _environment() -> Environment:
    # Prompts are plain text for a model, not HTML: escaping would put "&#39;" into questions.
    return Environment(
        loader=FileSystemLoader(resource("prompts")),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


@cache
def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.j2")


def render(name: str, /, **values: object) -> str:
    """Fill the template ``prompts/<name>.j2``; a value it names and does not get is an error.

    Raises
    ------
    jinja2.UndefinedError
        When the template needs a value that was not given.
    """
    return _template(name).render(**values).strip()


@cache
def template_hash(*names: str) -> str:
    """Content hash of templates: part of every response's key, so a new wording asks anew."""
    source = [(name, (resource("prompts") / f"{name}.j2").read_text(encoding="utf-8")) for name in sorted(names)]
    return content_hash(*source)
