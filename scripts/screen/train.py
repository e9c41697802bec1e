"""Train the local judge from imported runs and hand labels, measure it, and write screen/.

    biaslens import published RELEASE --out runs/
    python scripts/screen/train.py runs/published-*.sqlite

Takes about a quarter of an hour on two cores, and 4 GB.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from card import write_card
from data import Answers, read
from fit import NO_OUTLINES, OUTLINES_ALONE, SHARES, Features, Fitted, Fold, Parts, featurise, line
from measure import (
    Judged,
    by_model,
    by_role,
    calibrated,
    calibration,
    cascade,
    cut_of,
    folds_of,
    held_out,
    published,
    quality,
    shifted_votes,
    unseen_writers,
)
from scipy.special import expit

from biaslens.annotation.folder import read_info
from biaslens.oracles import screen

HERE = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--labels", type=Path, default=HERE / "labels")
    parser.add_argument("--out", type=Path, default=HERE / "screen")
    values = parser.parse_args()
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:6.0f} s  {text}", flush=True)

    data = read(sorted(values.runs), values.labels)
    say(f"{len(data.answer):,} answers, {len(data.sample):,} labels, {len(data.targeted):,} targeted ones")
    features = featurise(data)
    models, roles = by_model(data), by_role(data)
    folds = folds_of(data, features, models)
    say("learned from votes, each time without one model")
    scores = held_out(data, folds, Parts())
    judged = calibrated(data, scores, models)
    card: dict[str, Any] = {"version": screen.VERSION, "targeted": len(data.targeted)}
    card |= {"answers": int((~data.unvoted).sum()), "written": int(data.unvoted.sum())}
    card["learned_from"] = sorted(read_info(values.labels / run.stem)["sample"] for run in values.runs)
    card["unseen_models"] = quality(data, judged)
    say(f"unseen models: {card['unseen_models']}")
    card["tried"] = tried(data, folds)
    card |= {
        "cascade": cascade(data, judged.probability),
        "calibration": calibration(data, judged.probability),
        "by_model": groups(data, judged, data.model),
        "by_attribute": groups(data, judged, data.attribute),
        "by_condition": groups(data, judged, data.condition),
        "published": quality(data, published(data)),
    }
    by_roles = held_out(data, folds_of(data, features, roles), Parts())
    card["unseen_roles"] = quality(data, calibrated(data, by_roles, roles))
    say(f"unseen roles: {card['unseen_roles']}")
    whole = Fold(data, features, np.ones(len(data.answer), dtype=bool))
    fitted = whole.fit()
    slope, intercept = line(scores, data.sample)
    card["cut"] = cut_of(expit(slope * scores + intercept), data.sample)
    line_and_cut = {"slope": slope, "intercept": intercept, "cut": card["cut"]}
    card["unseen_writers"] = {
        name: unseen_writers(whole, data, parts, **line_and_cut)
        for name, parts in {
            "shipped": Parts(),
            "without outlines": Parts(shares=NO_OUTLINES),
            "learned from no written answers": Parts(written=False),
        }.items()
    }
    say(f"unseen writers: {card['unseen_writers']['shipped']}")
    values.out.mkdir(exist_ok=True)
    save(values.out, features, fitted.along(slope, intercept), cut=card["cut"])
    (values.out / screen.CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    write_card(values.out / "CARD.md", card, size=(values.out / screen.WEIGHTS).stat().st_size)
    say(f"{values.out} written")


def tried(data: Answers, folds: list[tuple[np.ndarray, Fold]]) -> dict[str, dict[str, float | int]]:
    """The same measure for what was tried, from the study's judge to more than is shipped."""
    plain = {"weak": False, "directions": False, "targeted": False, "written": False, "shares": NO_OUTLINES}
    ways = {
        "words, hand labels alone": Parts(**plain),
        "and the score learned from the votes": Parts(**plain | {"weak": True}),
        "and the targeted labels": Parts(directions=False, written=False, shares=NO_OUTLINES),
        "and latent directions": Parts(written=False, shares=NO_OUTLINES),
        "and written answers": Parts(shares=NO_OUTLINES),
        "and outlines, the same share for all": Parts(shares=(0.5, 0.5)),
        "and outlines, by manner (shipped)": Parts(),
        "outlines alone": Parts(shares=OUTLINES_ALONE),
        "shipped, without the question": Parts(question=False),
        "shipped, unsure labels in full": Parts(unsure=1.0),
    }
    found = {
        "the study's majority": quality(data, published(data)),
        "the score learned from the votes, cut anew": quality(data, shifted_votes(data, folds)),
    }
    fold = by_model(data)
    return found | {
        name: quality(data, calibrated(data, held_out(data, folds, parts), fold)) for name, parts in ways.items()
    }


def groups(data: Answers, judged: Judged, group: np.ndarray) -> dict[str, dict[str, float | int]]:
    of = group[data.sample.row]
    return {str(name): quality(data, judged, of == name) for name in np.unique(of)}


def save(folder: Path, features: Features, fitted: Fitted, *, cut: float) -> None:
    np.savez_compressed(
        folder / screen.WEIGHTS,
        answer_importance=features.answer_importance.astype(np.float16),
        answer_weight=np.where(features.answer_importance > 0, fitted.answer, 0).astype(np.float16),
        question_importance=features.question_importance.astype(np.float16),
        question_weight=np.where(features.question_importance > 0, fitted.question, 0).astype(np.float16),
        outline_importance=features.outline_importance.astype(np.float16),
        outline_weight=np.where(features.outline_importance > 0, fitted.outline, 0).astype(np.float16),
        outline_manner=np.where(features.outline_importance > 0, fitted.manner, 0).astype(np.float16),
        intercepts=np.array([fitted.intercept, fitted.outline_intercept, fitted.manner_intercept]),
        shares=np.array(SHARES),
        cut=np.float64(cut),
    )


if __name__ == "__main__":
    main()
