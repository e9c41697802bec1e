"""What a run file records of each start, so that it can be repeated."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from biaslens._util.text import printable, without_secrets
from biaslens.models import ChatModel
from biaslens.version import __version__


def this_start(models: Mapping[str, ChatModel]) -> dict[str, object]:
    """What is recorded of every start: when, by what, and which models were asked."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "package_version": __version__,
        "python": platform.python_version(),
        "command": this_command(),
        "runtime": {name: dict(model.runtime) for name, model in models.items()},
    }


def this_command() -> str:
    """The command line of this process, as it can be typed again."""
    return printable(str(without_secrets(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]))))
