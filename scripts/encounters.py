"""Work on encounters: show them filled in, check them, take in what authors wrote as plain text.

python scripts/encounters.py show ROLE           all texts of a role, filled in and mirrored
python scripts/encounters.py check               what the checker finds in benchmark/encounters
python scripts/encounters.py check FILE...       the same for authors' files, beside what is there
python scripts/encounters.py add FILE...         take authors' files into benchmark/encounters
python scripts/encounters.py write               write benchmark/encounters anew, after an edit by other means

An author's file is one role: a line "= persona", then for each encounter

    # target | theme | disfavoured | a | b (| c) | a_one | b_one (| c_one)
    S stereotype
    Y yes/no question with {a}, {b_one} ...
    C choice question
    O The one | The other
    P the letter that the prejudice picks
    W why question with {a} ...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from biaslens._util.files import resource, write_text
from biaslens.benchmark.encounters import Encounter, check_encounters, read_encounters, write_encounters
from biaslens.benchmark.files import read_roles, roles_text
from biaslens.errors import BiasLensError, InputError
from biaslens.schema import Attribute, Kind, Role

FOLDER = resource("benchmark") / "encounters"
FIELDS = "SYCOPW"


def read_text(path: Path, roles: tuple[Role, ...]) -> Iterator[Encounter]:
    """Read an author's file."""
    persona, blocks = "", []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if text.startswith("= "):
            persona = text[2:].strip()
        elif text.startswith("# "):
            blocks.append({"#": text[2:], "line": str(number)})
        elif text[:2] in [f"{field} " for field in FIELDS] and blocks:
            blocks[-1][text[0]] = text[2:].strip()
        elif text:
            raise InputError(f"{path}:{number}: not understood: {text[:60]!r}")
    role = next((role for role in roles if role.persona == persona), None)
    if role is None:
        raise InputError(f"{path}: no role with the persona {persona!r} in {FOLDER / 'roles.csv'}")
    for block in blocks:
        target, theme, disfavoured, *names = (part.strip() for part in block["#"].split("|"))
        missing = [field for field in FIELDS if field not in block]
        if missing or len(names) not in (4, 6) or target not in tuple(Attribute):
            raise InputError(f"{path}:{block['line']}: no encounter: missing {missing}, {len(names)} names, {target!r}")
        half = len(names) // 2
        yield Encounter(
            role=role,
            target=Attribute(target),
            theme=theme,
            stereotype=block["S"],
            groups=tuple(names[:half]),
            ones=tuple(names[half:]),
            disfavoured="abc".index(disfavoured),
            yes_no=block["Y"],
            choice=block["C"],
            options=tuple(option.strip() for option in block["O"].split("|")),
            picks="abc".index(block["P"]),
            why=block["W"],
        )


def show(encounters: list[Encounter]) -> None:
    for number, one in enumerate(encounters, 1):
        print(f"{number}  {one.target}, {one.theme}: {one.stereotype} (against {one.groups[one.disfavoured]})")
        for kind in Kind:
            print(f"    {kind:<7}{one.text(kind)}")
            if kind is Kind.CHOICE:
                print(f"           {' | '.join(one.options)}  -> {one.options[one.picks]}")
            else:
                print(f"           {one.text(kind, swapped=True)}")


def save(encounters: list[Encounter]) -> None:
    for name, text in write_encounters(encounters).items():
        write_text(FOLDER / name, text)


def main(command: str, *arguments: str) -> int:
    roles = read_roles(FOLDER / "roles.csv")
    there = list(read_encounters(FOLDER, roles))
    if command == "show":
        show([one for one in there if one.role.name == " ".join(arguments)])
        return 0
    if command == "write":
        save(there)
        write_text(FOLDER / "roles.csv", roles_text(roles))
        return 0
    new = [one for name in arguments for one in read_text(Path(name), roles)]
    written = {one.role for one in new}
    order = {role: place for place, role in enumerate(roles)}
    whole = sorted([one for one in there if one.role not in written] + new, key=lambda one: order[one.role])
    remarks = [remark for remark in check_encounters(whole) if not new or remark.role in written]
    for remark in remarks:
        of = "" if remark.role is None else f"{remark.role.name}: "
        first = "" if remark.position is None else f"{whole[remark.position].yes_no[:50]!r}: "
        print(f"{of}{first}{remark.text}")
    text = f"{len(whole)} encounters of {len({one.role for one in whole})} roles, {len(remarks)} remarks"
    print(text, file=sys.stderr)
    if command == "add" and not remarks:
        save(whole)
    return 1 if remarks else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*(sys.argv[1:] or ["check"])))
    except BiasLensError as error:
        sys.exit(f"encounters: {error}")
