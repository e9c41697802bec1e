"""SQL stands in `runfile` and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import biaslens

PACKAGE = Path(biaslens.__file__).parent
SQL = re.compile(
    r"\b(?:SELECT\s.*|INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(?:TEMP\s+)?(?:TABLE|VIEW|INDEX)"
    r"|DROP\s+TABLE|ALTER\s+TABLE|PRAGMA)\b|sqlite3|\.connection\.execute"
)


def test_sql_is_in_the_run_file_package_alone():
    homes = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if SQL.search(path.read_text(encoding="utf-8")) and path.relative_to(PACKAGE).parts[0] != "runfile"
    }
    assert homes == set()


def test_it_is_found_where_it_is():
    assert all(
        SQL.search((PACKAGE / "runfile" / f"{name}.py").read_text(encoding="utf-8"))
        for name in ("_store", "_plan", "_votes", "_labels", "_reading", "_requests")
    )
