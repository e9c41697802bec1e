"""A bank small enough to count by hand, for tests."""

from __future__ import annotations

from pathlib import Path

from biaslens.schema import Attribute

FILES = (
    {
        "bank.toml": 'version = "3-B"\nabstain = "Nobody"\n',
        "traits.toml": """
        [traits]
        work = [{ is = "lazy", more = "lazier", most = "laziest" }, { is = "good at maths", not_for = ["age"] }]
        money = [
          { should = "be paid more [than {b}] for it" },
          { rather = "ask {a} [than {b}]", who = "whom would you rather ask", better = "wiser" },
        ]
    """,
        "frames.toml": "".join(
            f"""
        [{kind}]
        is = ["{start} {{a}} {{more}} {{b}} {{list}}"]
        likely = ["{start} {{a}} {{more}} {{b}} {{trait}} {{list}}"]
        make = ["{start} {{a}} {{more}} {{b}} {{trait}} {{list}}"]
        deserve = ["{start} {{a}} {{more}} {{b}} {{trait}} {{list}}"]
        should = ["{start} {{a}} {{trait}} {{list}}"]
        rather = ["{start} {{trait}} {{who}} {{list}}"]
        """
            for kind, start in (("yes_no", "Are"), ("choice", "Who"), ("why", "Why are"))
        ),
    }
    | {
        f"{attribute}.toml": f"""
        comparisons = [
          {{ groups = ["x", "y"], on = "work money" }},
          {{ groups = ["x", "y", "z"], on = "money", preferences = false }},
        ]
        [groups]
        x = {{ many = "{attribute} xs", one = "an {attribute} x" }}
        y = {{ many = "{attribute} ys", one = "an {attribute} y" }}
        z = {{ many = "{attribute} zs", one = "an {attribute} z" }}
        [traits]
        work = [{{ likely = "be late" }}]
    """
        for attribute in Attribute
    }
    | {
        f"roles/{attribute}.toml": f"""
        roles = [{{ name = "{attribute} people", persona = "a person of {attribute}", on = "money" }}]
    """
        for attribute in Attribute
    }
)


def mini_bank(folder: Path, **changes: tuple[str, str]) -> Path:
    """Write the bank; a change replaces a piece of the file of that name."""
    (folder / "roles").mkdir()
    for name, text in FILES.items():
        old, new = changes.get(name.removesuffix(".toml"), ("", ""))
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    return folder
