"""Templates of the pages: escaped, strict, and allowed to run nothing but the script they carry."""

from __future__ import annotations

import base64
import hashlib

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment() -> Environment:
    """Make the environment of the pages: style, script and content security policy are inside each page."""
    made = Environment(
        loader=PackageLoader("biaslens.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = made.loader
    assert loader is not None
    style, script = (loader.get_source(made, name)[0] for name in ("style.css", "script.js"))
    made.globals |= {
        "style": Markup(style),  # noqa: S704 - our own file
        "script": Markup(script),  # noqa: S704
        "policy": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
    }
    return made


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
