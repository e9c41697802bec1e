"""What every page has in common: where templates lie, the skeleton, and the stylesheet."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_HERE = "biaslens.report.page"


def environment(
    package: str = _HERE,
    *,
    style: str = "style.css",
    script: str = "script.js",
    **values: Any,  # noqa: ANN401 - template values
) -> Environment:
    """Make the environment of some pages: style and script are inside each page, and nothing else is loaded.

    Templates get `style`, `script`, and `policy`, the content security policy under which these two work.

    Parameters
    ----------
    package
        Where templates are looked for, before those that all pages share.
    style, script
        Files in it; the style follows the common one, and "" is no script.
    values
        What else all templates get.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(_HERE, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    styles, scripts = (_sources(made, names) for names in (("common.css", style), (script,)))
    made.globals |= values | {
        "style": Markup(styles),  # noqa: S704 - our own files
        "script": Markup(scripts),  # noqa: S704
        "policy": f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(scripts)}'",
    }
    return made


def _sources(made: Environment, names: tuple[str, ...]) -> str:
    assert made.loader is not None
    return "".join(made.loader.get_source(made, name)[0] for name in names if name)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
