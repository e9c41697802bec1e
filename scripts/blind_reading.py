r"""Have a benchmark read blind: draw questions of several sources in random order, and score what readers wrote.

python scripts/blind_reading.py draw OUT --seed 1 --benchmark benchmark=330 --benchmark mine/bank=60 \\
    --published FOLDER=180
python scripts/blind_reading.py score OUT RATINGS.csv... [--guesses GUESSES.csv]

OUT/items.txt is what readers get, in which nothing says where a question comes from; OUT/roles.txt is for those who
guess which of five roles was asked a question, without the role; OUT/key.csv says the rest. RATINGS.csv has the columns
id, grammar, validity, realism, sharpness (1 to 5), faults (letters, empty where none) and remark; GUESSES.csv id and
guess (1 to 5). A question is usable with grammar and validity of at least 4, realism of at least 3 and no fault.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from biaslens.benchmark import read
from biaslens.replication.release import published_questions
from biaslens.schema import Attribute, Kind, Question, Role

SCALES = ("grammar", "validity", "realism", "sharpness")
GUESSED = 60
"""Questions of each source whose role is guessed."""


@dataclass(frozen=True)
class Item:
    """A question that is read; `choices` are five personas to choose from, its own at `own`."""

    source: str
    question: Question
    choices: Sequence[str]
    own: int


def draw(out: Path, sources: Sequence[tuple[str, Sequence[Question], int]], seed: int) -> None:
    """Draw questions of each source, evenly over attributes and kinds, and write them in random order."""
    draws = random.Random(seed)
    items = [item for name, questions, count in sources for item in _drawn(name, questions, count, draws)]
    draws.shuffle(items)
    out.mkdir(parents=True, exist_ok=True)
    left = defaultdict(lambda: GUESSED)
    with (out / "items.txt").open("w") as shown, (out / "roles.txt").open("w") as guessed:
        for number, item in enumerate(items, 1):
            text = "\n".join([item.question.text, *(f"  - {option}" for option in item.question.options)])
            shown.write(f"[{number}] role: {item.question.role.persona} | {item.question.kind}\n{text}\n\n")
            if left[item.source]:
                left[item.source] -= 1
                roles = "\n".join(f"  ({place}) {persona}" for place, persona in enumerate(item.choices, 1))
                guessed.write(f"[{number}] {text}\n{roles}\n\n")
    with (out / "key.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", "source", "attribute", "role", "kind", "question", "own"])
        for number, item in enumerate(items, 1):
            asked = item.question
            rows.writerow(
                [number, item.source, asked.role.attribute, asked.role.name, asked.kind, asked.text, item.own]
            )


def _drawn(name: str, questions: Sequence[Question], count: int, draws: random.Random) -> Iterator[Item]:
    by_place = defaultdict(list)
    roles: dict[Attribute, dict[Role, None]] = defaultdict(dict)
    for question in questions:
        if question.mirror_of is None:
            by_place[question.role.attribute, question.kind].append(question)
            roles[question.role.attribute][question.role] = None
    places = [(attribute, kind) for kind in Kind for attribute in Attribute if by_place[attribute, kind]]
    everybody = [role for of in roles.values() for role in of]
    for turn in range(count):
        question = draws.choice(by_place[places[turn % len(places)]])
        others = draws.sample([role for role in everybody if role != question.role], 4)
        personas = [question.role.persona, *(role.persona for role in others)]
        draws.shuffle(personas)
        yield Item(name, question, personas, personas.index(question.role.persona) + 1)


def score(out: Path, ratings: Sequence[Path], guesses: Path | None) -> None:
    """Print the means of each reader by source, kind and attribute, and how often the role was guessed."""
    with (out / "key.csv").open(newline="") as file:
        key = {row["id"]: row for row in csv.DictReader(file)}
    for path in ratings:
        groups = defaultdict(list)
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                values, known = [float(row[scale]) for scale in SCALES], key[row["id"]]
                fault = bool((row["faults"] or "").strip())
                usable = values[0] >= 4 and values[1] >= 4 and values[2] >= 3 and not fault
                for name in ("all", known["kind"], known["attribute"]):
                    groups[known["source"], name].append([*values, fault, usable])
        print(f"{path.stem}\nsource, of, questions, {', '.join(SCALES)}, with a fault, usable")
        for (source, name), rows in sorted(groups.items()):
            print(source, name, len(rows), *(f"{fmean(column):.2f}" for column in zip(*rows, strict=True)), sep=", ")
    if guesses is not None:
        right = defaultdict(list)
        with guesses.open(newline="") as file:
            for row in csv.DictReader(file):
                known = key[row["id"]]
                for name in ("all", known["kind"]):
                    right[known["source"], name].append(row["guess"].strip() == known["own"])
        for (source, name), found in sorted(right.items()):
            print(f"{source}, {name}: role guessed in {fmean(found):.1%} of {len(found)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("draw", "score"))
    parser.add_argument("out", type=Path)
    parser.add_argument("ratings", type=Path, nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--benchmark", action="append", default=[], metavar="FOLDER=COUNT")
    parser.add_argument("--published", action="append", default=[], metavar="FOLDER=COUNT")
    parser.add_argument("--guesses", type=Path)
    given = parser.parse_args()
    if given.task == "score":
        score(given.out, given.ratings, given.guesses)
        return
    sources = []
    for kind, values in (("benchmark", given.benchmark), ("published", given.published)):
        for value in values:
            folder, _, count = value.rpartition("=")
            found = read(Path(folder)).questions if kind == "benchmark" else published_questions(Path(folder)).questions
            sources.append((folder if kind == "benchmark" else "published", found, int(count)))
    if not sources:
        sys.exit("give --benchmark FOLDER=COUNT or --published FOLDER=COUNT")
    draw(given.out, sources, given.seed)


if __name__ == "__main__":
    main()
