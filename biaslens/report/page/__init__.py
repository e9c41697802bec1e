"""What every page has in common: where templates lie, the skeleton, and the stylesheet."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_HERE = "biaslens.report.page"


def environment(package: str = _HERE, **values: Any) -> Environment:  # noqa: ANN401 - template values
    """Make the environment of some pages: style and script are inside each page, and nothing else is loaded.

    Templates are looked for in `package` before those that all pages share, and so are its ``style.css``, which
    follows the common one, and ``script.js``. Beside `values` templates get `style`, `script`, and `policy`, the
    content security policy under which these two work.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(_HERE, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    styles, script = (_sources(made, *names) for names in (("common.css", "style.css"), ("script.js",)))
    made.globals |= values | {
        "style": Markup(styles),  # noqa: S704 - our own files
        "script": Markup(script),  # noqa: S704
        "policy": f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(script)}'",
    }
    return made


def markdown(package: str, template: str, **values: object) -> str:
    """Fill a template of a package that is Markdown: what stands in it is escaped where that is needed."""
    made = Environment(  # noqa: S701 - not markup
        loader=PackageLoader(package, "."), undefined=StrictUndefined, trim_blocks=True
    )
    return made.get_template(template).render(**values)


def _sources(made: Environment, *names: str) -> str:
    assert made.loader is not None
    return "".join(made.loader.get_source(made, name)[0] for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
