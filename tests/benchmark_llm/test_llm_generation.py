"""Generation against a scripted server: the benchmark is complete and valid, or what is missing is said."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fake_server import FakeServer, Reply, Request, Script, answer, content_filter, error, rate_limited
from writer import (
    Item,
    as_json,
    count_of,
    first_round,
    items_for,
    persona_of,
    shipped,
    shipped_roles,
    wants_roles,
    writes,
)

from biaslens.benchmark import check_encounters, from_encounters, read, read_encounters
from biaslens.benchmark.files import read_roles
from biaslens.benchmark.llm import Generation, GenerationSpec, estimate_generation, generate
from biaslens.benchmark.llm.state import examples
from biaslens.engine import Pace, RetryPolicy
from biaslens.errors import InputError, RunMismatchError, RunStoppedError
from biaslens.models import Params
from biaslens.schema import Attribute, Kind, Mirror, Role
from biaslens.settings import Settings, load_settings

OUT = Path("made")
PACE = Pace(retry=RetryPolicy(first_wait=0.01, longest_wait=0.05))
SMALL = GenerationSpec(
    model="openai/writer",
    out=OUT,
    attributes=(Attribute.AGE, Attribute.RACE),
    roles_per_attribute=3,
    questions_per_kind=4,
)
LISTS = 2 + 2 * 3  # two lists of roles, and one of encounters for each of six roles


def settings(server: FakeServer) -> Settings:
    return load_settings(openai_base_url=server.base_url, keys={"OPENAI_API_KEY": "k"})


def make(script: Script, spec: GenerationSpec = SMALL) -> tuple[Generation, FakeServer]:
    with FakeServer(script) as server:
        return generate(spec, pace=PACE, settings=settings(server)), server


def with_(**changes: object) -> GenerationSpec:
    return replace(SMALL, **changes)


def assert_whole(result: Generation) -> None:
    assert result.complete and result.written
    benchmark = read(OUT)
    assert (len(benchmark.roles), len(benchmark.questions)) == (6, 72)  # 6 roles x 4 encounters x 3 kinds
    assert set(Counter((q.role, q.kind) for q in benchmark.questions).values()) == {4}
    assert all(q.stereotype and q.theme and q.disfavoured and q.target for q in benchmark.questions)


def test_a_good_generator_is_asked_once_for_each_list():
    result, server = make(writes)
    assert_whole(result)
    assert len(server.requests) == result.answered == LISTS
    assert (result.dropped, result.first_read, result.first_taken) == ({}, 24, 24)
    benchmark = read(OUT)
    assert benchmark.generator == "openai/writer"
    assert benchmark.version == f"0-A+{benchmark.hash[:8]}"
    assert benchmark.command.startswith("biaslens generate --with openai/writer --seed 0 --roles-per-attribute 3")


def test_a_whole_role_of_twenty_passes_the_checker():
    result, server = make(writes, with_(questions_per_kind=20, roles_per_attribute=2))
    assert result.complete
    assert len(server.requests) == 2 + 4
    folder = OUT / "encounters"
    roles = read_roles(folder / "roles.csv")
    encounters = read_encounters(folder, roles)
    assert len(encounters) == 80
    assert check_encounters(encounters) == []


def test_the_questions_are_those_that_its_encounters_give():
    make(writes, with_(mirrors=True, seed=3))
    roles = read_roles(OUT / "encounters" / "roles.csv")
    again = from_encounters(roles, read_encounters(OUT / "encounters", roles), seed=3, mirrors=True)
    assert read(OUT).questions == again.questions
    assert {question.mirror for question in again.questions} == {None, Mirror.SWAPPED}


def test_roles_can_be_given():
    roles = tuple(Role(Attribute(row["attribute"]), row["name"], row["persona"]) for row in shipped_roles())
    result, server = make(writes, with_(roles=roles))
    assert_whole(result)
    assert not any(wants_roles(request.prompt) for request in server.requests)
    assert read(OUT).roles == tuple(
        role for of in SMALL.attributes for role in [one for one in roles if one.attribute is of][:3]
    )
    with pytest.raises(InputError, match="none of the 1 roles is of age, race"):
        with_(roles=roles[:1])


def test_the_schema_is_sent_and_can_be_left_out():
    _, server = make(writes)
    forms = Counter(request.body["response_format"]["json_schema"]["name"] for request in server.requests)
    assert forms == {"roles": 2, "encounters": 6}
    assert all(request.body["response_format"]["json_schema"]["strict"] for request in server.requests)
    _, server = make(writes, with_(json_schema=False, out=Path("other")))
    assert not any("response_format" in request.body for request in server.requests)


def test_every_item_has_its_provenance():
    make(writes)
    rows = list(csv.DictReader((OUT / "provenance.csv").read_text().splitlines()))
    assert len(rows) == 6 + 24
    assert {question.encounter for question in read(OUT).questions} < {row["item"] for row in rows}
    assert {(row["generator"], row["resolved_model"], row["round"]) for row in rows} == {
        ("openai/writer", "writer-2024-07-18", "1")
    }
    assert all(len(row["template_hash"]) == 32 and row["answered_at"].startswith("2") for row in rows)


def spoil_items(change) -> Script:
    """First replies whose items are changed one by one; a change to None leaves the item out."""

    def spoil(request: Request, good: str) -> str:
        items = [changed for item in items_for(request.prompt) if (changed := change(request, dict(item))) is not None]
        return as_json(request.prompt, items)

    return first_round(spoil)


def encounters(**changes: object):
    """A change of fields of encounters; roles stay as they are."""
    return lambda request, item: item if "name" in item else item | changes


def first_only(request: Request, item: Item) -> Item | None:
    return item if item == items_for(request.prompt)[0] else None


def of_the_first_role(request: Request, item: Item) -> Item:
    return item if "name" in item else shipped(shipped_roles()[0]["persona"])[0]


SPOILT = {
    "fewer items": spoil_items(first_only),
    "an unknown target": spoil_items(encounters(target="hobbies")),
    "an unknown theme": spoil_items(encounters(theme="luck")),
    "no slots": spoil_items(encounters(why="Why do they come late?")),
    "slots of nobody": spoil_items(encounters(why="Why do {d} come late?")),
    "one group": spoil_items(encounters(b="", b_one="")),
    "one option too many": spoil_items(encounters(options=["The first", "The second", "I cannot say"])),
    "a placeholder": spoil_items(encounters(a="people of [group]")),
    "a separator within an option": spoil_items(encounters(options=["The one | other", "The second"])),
    "another language": spoil_items(encounters(why="Warum kommen {a} zu spät?")),
    "too many words": spoil_items(encounters(why="Why do {a} " + "really " * 24 + "come late?")),
    "the same within a role": spoil_items(
        lambda request, item: item if "name" in item else items_for(request.prompt)[0]
    ),
    "the same across roles": spoil_items(of_the_first_role),
    "no personas": spoil_items(lambda _, item: {"name": item["name"]} if "name" in item else item),
    "the same role again": spoil_items(lambda request, item: items_for(request.prompt)[0] if "name" in item else item),
    "texts only": first_round(lambda request, good: json.dumps([str(item) for item in items_for(request.prompt)])),
    "an empty reply": first_round(lambda request, good: ""),
    "a refusal": first_round(lambda request, good: "I'm sorry, but I can't help with biased content."),
    "a filtered reply": first_round(lambda request, good: content_filter()),
    "half a reply": first_round(lambda request, good: Reply(good[: len(good) // 2], finish_reason="length")),
    "half a JSON": first_round(lambda request, good: good[: len(good) // 2]),
    "prose only": first_round(lambda request, good: "What a fine idea. Let us talk about it."),
    "the examples": first_round(lambda request, good: request.prompt.partition("EXAMPLES")[2].partition("FIELDS")[0]),
}  # fmt: skip


@pytest.mark.parametrize("script", SPOILT.values(), ids=SPOILT)
def test_only_what_failed_is_asked_again(script: Script):
    result, server = make(script)
    assert_whole(result)
    more = {request.hash for request in server.requests if "YOUR LAST" in request.prompt or "ALREADY" in request.prompt}
    assert 0 < len(more) == len(server.requests) - LISTS


UNHARMED = {
    "more items": lambda request: answer(as_json(request.prompt, items_for(request.prompt, extra=3))),
    "prose around": lambda request: answer(f"Gladly! Here:\n\n{writes(request).text}\n\nAnything else?"),
    "thoughts": lambda request: answer(f'<think>{{"why": "Why?"}} no</think>{writes(request).text}'),
    "fences": lambda request: answer(f"```json\n{writes(request).text}\n```"),
    "no brackets at the end": lambda request: answer(writes(request).text.replace("]}", "],}")),
    "lines": lambda request: answer("\n".join(map(json.dumps, items_for(request.prompt)))),
    "a list": lambda request: answer(json.dumps(items_for(request.prompt), indent=2)),
    "empty fields left out": lambda request: answer(
        json.dumps([{key: value for key, value in item.items() if value} for item in items_for(request.prompt)])
    ),
    "groups for letters": lambda request: answer(json.dumps([_named(item) for item in items_for(request.prompt)])),
}  # fmt: skip


def _named(item: Item) -> Item:
    if "name" in item:
        return item
    option = item["options"]["abc".index(item["picks"])]  # type: ignore[index]
    return item | {"disfavoured": item[str(item["disfavoured"])], "picks": option, "c": None, "c_one": "-"}


@pytest.mark.parametrize("script", UNHARMED.values(), ids=UNHARMED)
def test_what_can_be_read_is_not_asked_again(script: Script):
    result, server = make(script)
    assert_whole(result)
    assert len(server.requests) == LISTS


def test_the_generator_is_told_in_which_encounter_what_was_wrong():
    long = "Why do {a} " + "really " * 24 + "come late?"

    def spoil(request: Request, item: Item) -> Item:
        return item | {"why": long} if "why" in item and item == items_for(request.prompt)[1] else item

    result, server = make(spoil_items(spoil))
    assert_whole(result)
    assert (result.first_read, result.first_taken, result.dropped) == (24, 18, {"checker": 6})
    told = [request.prompt for request in server.requests if "YOUR LAST REPLY" in request.prompt]
    assert len(told) == 6
    for prompt in told:
        last = prompt.partition("YOUR LAST REPLY")[2]
        assert (last.count(long), last.count("Fault:"), count_of(prompt)) == (1, 1, 1)
        assert re.search(r"Fault: why: \d\d words, at most 24", last)


def test_targets_are_spread_over_a_role_and_over_all():
    _, server = make(writes, with_(questions_per_kind=20))
    prompts = [request.prompt for request in server.requests if not wants_roles(request.prompt)]
    wanted = [
        {name: int(number) for number, name in re.findall(r"^- (\d+) on (\w+) \(", prompt, re.MULTILINE)}
        for prompt in prompts
    ]
    assert {sum(one.values()) for one in wanted} == {20}
    assert all(len(one) == 11 and max(one.values()) == 3 for one in wanted)
    own = {row["persona"]: row["attribute"] for row in shipped_roles()}
    assert all(one[own[persona_of(prompt)]] == 3 for one, prompt in zip(wanted, prompts, strict=True))
    assert len({tuple(sorted(one.items())) for one in wanted}) > 2  # who is asked about twice differs


def test_later_roles_are_told_which_pairs_are_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("biaslens.benchmark.llm.run._FIRST_ROLES", 2)
    result, server = make(writes)
    assert_whole(result)
    prompts = [request.prompt for request in server.requests if not wants_roles(request.prompt)]
    taken = [prompt.partition("TAKEN")[2].count("\n- ") for prompt in prompts]
    assert taken[:2] == [0, 0]  # two roles, then two more, then as many as there are
    assert all(taken[2:])


def test_the_examples_are_the_project_s_own_and_pass_its_checker():
    known = {json.dumps(item, sort_keys=True) for role in shipped_roles() for item in _short(role["persona"])}
    assert len(examples("encounters")) == 3
    for item in examples("encounters"):
        own = {**item, "options": item["options"].split(" | ")}
        assert json.dumps(own, sort_keys=True) in known


def _short(persona: str) -> tuple[Item, ...]:
    told = ("a call-centre agent", "an estate agent", "a wheelchair user")
    return shipped(persona) if persona.startswith(told) else ()


def test_a_429_storm_is_sat_out():
    arrivals: Counter[str] = Counter()

    def script(request: Request) -> Reply:
        arrivals[request.hash] += 1
        return rate_limited("0.01") if arrivals[request.hash] <= 3 else writes(request)

    result, server = make(script)
    assert_whole(result)
    assert result.failed == 0
    assert len(server.requests) == 4 * LISTS


def stubborn(request: Request) -> bool:
    """Whether encounters of one of the roles are asked for."""
    return not wants_roles(request.prompt) and persona_of(request.prompt) == STUBBORN["persona"]


STUBBORN = next(row for row in shipped_roles() if row["attribute"] == "race")


def test_what_still_fails_is_named_and_nothing_is_written():
    result, server = make(
        lambda request: answer("I cannot write this.") if stubborn(request) else writes(request), with_(max_rounds=2)
    )
    assert not result.complete and not result.written
    assert not (OUT / "questions.csv").exists()
    (short,) = result.short
    assert (short.attribute, short.role) == (Attribute.RACE, STUBBORN["name"])
    assert (short.made, short.wanted, short.rounds) == (0, 4, 2)
    assert result.dropped == {"refused": 2}
    assert len(server.requests) == LISTS + 1

    again, server = make(writes, with_(max_rounds=3))
    assert_whole(again)
    assert len(server.requests) == 1


def test_a_partial_benchmark_is_written_where_asked_for():
    result, _ = make(
        lambda request: answer("") if stubborn(request) else writes(request), with_(max_rounds=1, partial=True)
    )
    assert result.written and not result.complete
    assert len(result.short) == 1
    assert len(read(OUT).questions) == 5 * 4 * 3


def test_no_encounter_is_asked_for_while_roles_are_missing():
    result, server = make(
        lambda request: answer("no") if "apart by race" in request.prompt else writes(request), with_(max_rounds=2)
    )
    assert [(short.attribute, short.role, short.made) for short in result.short if short.role is None] == [
        (Attribute.RACE, None, 0)
    ]
    assert all(wants_roles(request.prompt) for request in server.requests)
    assert len(server.requests) == 3


def test_a_request_that_fails_for_good_is_asked_again_at_the_next_start():
    result, server = make(lambda request: error(400, "no such luck") if stubborn(request) else writes(request))
    assert (result.failed, len(result.short), result.written) == (1, 1, False)
    assert "no such luck" in result.error
    assert len(server.requests) == LISTS
    again, server = make(writes)
    assert_whole(again)
    assert len(server.requests) == 1


def test_a_wrong_key_stops_at_once_and_binds_nobody():
    with pytest.raises(RunStoppedError):
        make(error(401, "bad key"))
    result, _ = make(writes, with_(model="openai/another"))
    assert_whole(result)


@pytest.mark.parametrize(
    "change",
    [{"model": "openai/other"}, {"questions_per_kind": 5}, {"roles_per_attribute": 4}, {"seed": 1},
     {"params": Params(temperature=0.5)}, {"json_schema": False}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_folder_of_another_generation_is_refused(change: dict):
    make(writes)
    with pytest.raises(RunMismatchError, match="this run has"):
        make(writes, with_(**change))
    with pytest.raises(RunMismatchError, match="give another --out"):
        estimate_generation(with_(**change))


def test_another_wording_of_the_prompts_is_refused(monkeypatch: pytest.MonkeyPatch):
    make(writes)
    monkeypatch.setattr("biaslens.benchmark.llm.run.TEMPLATE_HASH", "0" * 32)
    with pytest.raises(RunMismatchError, match="template_hash"):
        make(writes)


def test_attributes_can_be_added_later_and_what_was_made_stays():
    make(writes, with_(attributes=(Attribute.RACE,)))
    before = set(read(OUT).questions)
    result, server = make(writes)
    assert_whole(result)
    assert before < set(read(OUT).questions)
    assert len(server.requests) == LISTS / 2


def test_the_result_does_not_hang_on_the_order_in_which_replies_arrive():
    same = spoil_items(of_the_first_role)

    def slow_or_fast(slow: bool) -> Script:
        def script(request: Request) -> Reply:
            reply = same(request)
            return Reply(reply.text, delay=0.03 if (request.number % 2 == 0) == slow else 0.0)

        return script

    make(slow_or_fast(True))
    first = read(OUT).questions
    make(slow_or_fast(False), with_(out=Path("other")))
    assert read(Path("other")).questions == first


def test_a_second_start_asks_nothing_and_writes_the_same():
    make(writes)
    before = {path.name: path.read_bytes() for path in OUT.iterdir() if path.suffix in {".csv", ".toml"}}
    result, server = make(writes)
    assert_whole(result)
    assert server.requests == []
    assert {path.name: path.read_bytes() for path in OUT.iterdir() if path.suffix in {".csv", ".toml"}} == before


def test_the_estimate_counts_each_list_once_and_then_what_is_missing():
    load = estimate_generation(SMALL)
    assert load.calls == LISTS
    # 6 roles of 25 tokens, and 6 x 4 encounters of 190
    assert load.completion_tokens == 6 * 25 + 24 * 190
    assert load.dollars is None
    make(writes, with_(attributes=(Attribute.RACE,)))
    assert estimate_generation(SMALL).calls == LISTS / 2
    make(writes)
    assert estimate_generation(SMALL).calls == 0


def test_the_estimate_is_close_to_what_is_sent():
    load = estimate_generation(SMALL)
    _, server = make(writes)
    sent = sum(len(request.prompt) for request in server.requests) / 4
    assert load.prompt_tokens == pytest.approx(sent, rel=0.05)


def test_senseless_numbers_are_refused():
    for change in (
        {"roles_per_attribute": 0},
        {"questions_per_kind": 0},
        {"questions_per_kind": 21},
        {"max_rounds": 0},
        {"attributes": ()},
    ):
        with pytest.raises(InputError):
            with_(**change)


def test_what_was_not_accepted_is_kept_with_its_reason():
    make(SPOILT["one group"])
    connection = sqlite3.connect(OUT / "generation.sqlite")
    rows = connection.execute("SELECT rule, count(*) FROM faults GROUP BY rule").fetchall()
    (text,) = connection.execute("SELECT text FROM faults LIMIT 1").fetchone()
    kept = connection.execute("SELECT text FROM answers").fetchall()
    connection.close()
    assert rows == [("form", 24)]
    assert json.loads(text)["b"] == ""
    assert all(json.loads(reply) for (reply,) in kept)


def test_every_kind_is_there_for_each_encounter():
    make(writes)
    kinds = Counter(question.encounter for question in read(OUT).questions)
    assert set(kinds.values()) == {len(Kind)}
