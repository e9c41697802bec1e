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
from writer import as_json, count_of, first_round, items_for, kind_of, writes

from biaslens.benchmark import read
from biaslens.benchmark.files import repeats
from biaslens.benchmark.llm import Generation, GenerationSpec, estimate_generation, generate
from biaslens.engine import Pace, RetryPolicy
from biaslens.errors import InputError, RunMismatchError, RunStoppedError
from biaslens.models import Params
from biaslens.schema import Attribute, Kind
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
LISTS = 2 + 2 * 3 * 3  # two lists of roles, and three kinds for each of six roles


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
    assert (len(benchmark.roles), len(benchmark.questions)) == (6, 72)  # 6 roles x 3 kinds x 4
    assert set(Counter((q.role, q.kind) for q in benchmark.questions).values()) == {4}
    assert not repeats(benchmark.questions)
    assert all(q.options[-1] == "None of them: I cannot choose" for q in benchmark.questions if q.options)


def test_a_good_generator_is_asked_once_for_each_list():
    result, server = make(writes)
    assert_whole(result)
    assert len(server.requests) == result.answered == LISTS
    assert result.dropped == {}
    benchmark = read(OUT)
    assert benchmark.generator == "openai/writer"
    assert benchmark.version == f"0-A+{benchmark.hash[:8]}"
    assert benchmark.command.startswith("biaslens generate --with openai/writer --seed 0 --roles-per-attribute 3")


def test_the_schema_is_sent_and_can_be_left_out():
    _, server = make(writes)
    forms = Counter(request.body["response_format"]["json_schema"]["name"] for request in server.requests)
    assert forms == {"roles": 2, "yes_no_questions": 6, "choice_questions": 6, "why_questions": 6}
    assert all(request.body["response_format"]["json_schema"]["strict"] for request in server.requests)
    _, server = make(writes, with_(json_schema=False, out=Path("other")))
    assert not any("response_format" in request.body for request in server.requests)


def test_every_item_has_its_provenance():
    make(writes)
    rows = list(csv.DictReader((OUT / "provenance.csv").read_text().splitlines()))
    assert len(rows) == 6 + 72
    assert {row["item"] for row in rows if row["kind"]} == {question.id for question in read(OUT).questions}
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


def text(change):
    """A change of the text of questions; roles stay as they are."""
    return lambda request, item: item if "name" in item else item | {"text": change(item["text"])}


def without_role(question: str) -> str:
    """What is left is the same for every role."""
    return " ".join(word for word in question.split() if word not in {"age", "race", "smith", "baker", "tailor"})


def one_option(item: dict) -> dict:
    return item | {"options": item["options"][:1]} if "options" in item else item


def first_only(request: Request, item: dict) -> dict | None:
    return item if item == items_for(request.prompt)[0] else None


SPOILT = {
    "fewer items": spoil_items(first_only),
    "placeholders": spoil_items(text(lambda t: t.replace("townsfolk", "Group B"))),
    "another language": spoil_items(text(lambda t: "Почему рыбаки ленивее пекарей?")),
    "not the kind's form": spoil_items(text(lambda t: "Tell me who is worse.")),
    "empty texts": spoil_items(text(lambda t: "")),
    "the same within a role": spoil_items(
        lambda request, item: item if "name" in item else items_for(request.prompt)[0]
    ),
    "the same across roles": spoil_items(text(without_role)),
    "one option": spoil_items(lambda _, item: one_option(item)),
    "no personas": spoil_items(lambda _, item: {"name": item["name"]} if "name" in item else item),
    "the same role again": spoil_items(lambda request, item: items_for(request.prompt)[0] if "name" in item else item),
    "an empty reply": first_round(lambda request, good: ""),
    "a refusal": first_round(lambda request, good: "I'm sorry, but I can't help with biased content."),
    "a filtered reply": first_round(lambda request, good: content_filter()),
    "half a reply": first_round(lambda request, good: Reply(good[: len(good) // 2], finish_reason="length")),
    "half a JSON": first_round(lambda request, good: good[: len(good) // 2]),
    "prose only": first_round(lambda request, good: "What a fine idea. Let us talk about it."),
    "the examples": first_round(lambda request, good: request.prompt.partition("EXAMPLES")[2].partition("REQU")[0]),
}  # fmt: skip


@pytest.mark.parametrize("script", SPOILT.values(), ids=SPOILT)
def test_only_what_failed_is_asked_again(script: Script):
    result, server = make(script)
    assert_whole(result)
    again = [request for request in server.requests if "Your last reply" in request.prompt]
    more = [request for request in server.requests if "Already there" in request.prompt]
    assert 0 < len({r.hash for r in [*again, *more]}) == len(server.requests) - LISTS


UNHARMED = {
    "more items": lambda request: answer(as_json(request.prompt, items_for(request.prompt, extra=3))),
    "prose around": lambda request: answer(f"Gladly! Here:\n\n{writes(request).text}\n\nAnything else?"),
    "fences": lambda request: answer(f"```json\n{writes(request).text}\n```"),
    "no brackets at the end": lambda request: answer(writes(request).text.replace("]}", "],}")),
    "wrong numbering": lambda request: answer(_numbered(request)),
    "the role in front": lambda request: answer(_with_role(request)),
    "abstaining in other words": lambda request: answer(
        writes(request).text.replace('"Townsfolk"]', '"Townsfolk", "Neither"]')
    ),
}  # fmt: skip


def _numbered(request: Request) -> str:
    lines = []
    for item in items_for(request.prompt):
        if "name" in item:
            lines.append(f"7. **{item['name']}** - {item['persona']}")
        else:
            options = "".join(
                f" ({letter}) {option}" for letter, option in zip("AB", item.get("options", ()), strict=False)
            )
            lines.append(f"7) {item['text']}{options}")
    return "Sure:\n" + "\n".join(lines)


def _with_role(request: Request) -> str:
    good = writes(request).text
    return good if kind_of(request.prompt) == "why" else good.replace('"text": "', '"text": "As a smith, ')


@pytest.mark.parametrize("script", UNHARMED.values(), ids=UNHARMED)
def test_what_can_be_read_is_not_asked_again(script: Script):
    result, server = make(script)
    assert_whole(result)
    assert len(server.requests) == LISTS


def test_the_generator_is_told_what_was_wrong_and_what_is_there():
    _, server = make(spoil_items(lambda request, item: first_only(request, item) and one_option(item)))
    reason = "has 1 groups as options; it needs two to four"
    assert len([request for request in server.requests if reason in request.prompt]) == 6
    missing_three = [request for request in server.requests if "Already there" in request.prompt]
    assert {count_of(request.prompt) for request in missing_three} == {2, 3}  # of 3 roles, and of 4 questions


def test_the_attributes_to_ask_about_are_spread_over_the_roles():
    _, server = make(writes)
    lists = [
        re.findall(r"^  (\w+) \(", r.prompt, re.MULTILINE) for r in server.requests if kind_of(r.prompt) != "roles"
    ]
    assert {len(attributes) for attributes in lists} == {4}  # as many as questions
    named = Counter(attribute for attributes in lists for attribute in attributes)
    assert set(named) == {attribute.value for attribute in Attribute}  # 18 lists of 4 leave out none of the 11
    assert max(named.values()) <= 12


def test_a_429_storm_is_sat_out():
    arrivals: Counter[str] = Counter()

    def script(request: Request) -> Reply:
        arrivals[request.hash] += 1
        return rate_limited("0.01") if arrivals[request.hash] <= 3 else writes(request)

    result, server = make(script)
    assert_whole(result)
    assert result.failed == 0
    assert len(server.requests) == 4 * LISTS


def test_what_still_fails_is_named_and_nothing_is_written():
    stubborn = "race smith"

    def script(request: Request) -> Reply:
        if stubborn in request.prompt and kind_of(request.prompt) == "why":
            return answer("I cannot write this.")
        return writes(request)

    result, server = make(script, with_(max_rounds=2))
    assert not result.complete and not result.written
    assert not (OUT / "questions.csv").exists()
    (short,) = result.short
    assert (short.attribute, short.role, short.kind) == (Attribute.RACE, "Race smiths", Kind.WHY)
    assert (short.made, short.wanted, short.rounds) == (0, 4, 2)
    assert result.dropped == {"refused": 2}
    assert len(server.requests) == LISTS + 1

    again, server = make(writes, with_(max_rounds=3))
    assert_whole(again)
    assert len(server.requests) == 1


def test_a_partial_benchmark_is_written_where_asked_for():
    result, _ = make(
        lambda request: answer("") if kind_of(request.prompt) == "why" else writes(request),
        with_(max_rounds=1, partial=True),
    )
    assert result.written and not result.complete
    assert len(result.short) == 6
    assert len(read(OUT).questions) == 6 * 2 * 4


def test_no_question_is_asked_for_while_roles_are_missing():
    result, server = make(
        lambda request: answer("no") if "apart by race" in request.prompt else writes(request), with_(max_rounds=2)
    )
    assert [(short.attribute, short.role, short.made) for short in result.short if short.role is None] == [
        (Attribute.RACE, None, 0)
    ]
    assert {kind_of(request.prompt) for request in server.requests} == {"roles"}
    assert len(server.requests) == 3


def test_a_request_that_fails_for_good_is_asked_again_at_the_next_start():
    def script(request: Request) -> Reply:
        bad = "race smith" in request.prompt and kind_of(request.prompt) == "why"
        return error(400, "no such luck") if bad else writes(request)

    result, server = make(script)
    assert (result.failed, len(result.short), result.written) == (1, 1, False)
    assert "no such luck" in result.error
    assert len(server.requests) == LISTS
    again, server = make(writes)
    assert_whole(again)
    assert len(server.requests) == 1


def test_a_wrong_key_stops_at_once_and_binds_nobody():
    with pytest.raises(RunStoppedError):
        make(error(401, "bad key"))
    result, _ = make(writes, with_(questions_per_kind=4, model="openai/another"))
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
    same = spoil_items(text(without_role))

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
    # 6 roles of 20 tokens; 6 x 4 questions of each kind, of 45, 65 and 45 tokens
    assert load.completion_tokens == 6 * 20 + 24 * (45 + 65 + 45)
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
    for change in ({"roles_per_attribute": 0}, {"questions_per_kind": 0}, {"max_rounds": 0}, {"attributes": ()}):
        with pytest.raises(InputError):
            with_(**change)


def test_what_was_not_accepted_is_kept_with_its_reason():
    make(SPOILT["one option"])
    connection = sqlite3.connect(OUT / "generation.sqlite")
    rows = connection.execute("SELECT rule, count(*) FROM faults GROUP BY rule").fetchall()
    kept = connection.execute("SELECT text FROM answers").fetchall()
    connection.close()
    assert rows == [("options", 24)]
    assert all(json.loads(reply) for (reply,) in kept)
