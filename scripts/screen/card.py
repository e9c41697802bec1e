"""Write the model card from the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from styles import by_style, section

from biaslens.oracles import screen

WHOLE = {"Unseen models": "unseen_models", "Unseen roles": "unseen_roles", "The study's majority": "published"}


def write_card(path: Path, card: dict[str, Any], *, size: int) -> None:
    # The judge itself lies beside the card, written before it.
    # Plain text: nothing in it is escaped.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"d2": "{:.2f}".format, "d3": "{:.3f}".format}
    text = environment.get_template("card.md.j2").render(
        card=card,
        size=size,
        whole={name: card[key] for name, key in WHOLE.items()},
        parts={**card["by_model"], **card["by_attribute"], **card["by_condition"]},
        kappa=_kappa,
        written=card["unseen_writers"]["shipped"],
        styles=section(by_style(screen.read(path.parent)), card["unseen_writers"]["shipped"]["manners"]["by"]["style"]),
    )
    path.write_text(text.rstrip() + "\n", encoding="utf-8")


def _kappa(found: dict[str, float]) -> str:
    return f"{found['kappa']:.2f} ({found['kappa_low']:.2f} to {found['kappa_high']:.2f})"
