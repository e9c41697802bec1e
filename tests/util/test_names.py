"""Names that stand for one thing each."""

import ast
from collections import defaultdict
from pathlib import Path

import biaslens


def test_no_public_class_name_stands_twice():
    places = defaultdict(list)
    root = Path(biaslens.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(root)))
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
