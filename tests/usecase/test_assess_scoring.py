"""Scores that are asked for or take long: kept in the run file, and not made twice."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from assessed import QUICK
from batch_server import PROVIDERS, BatchProvider
from fake_server import FakeServer, Reply, Request, answer, error, moderation

from biaslens.engine import Batching, Pace, RetryPolicy
from biaslens.errors import SettingsError
from biaslens.usecase import _reading, assess_texts
from biaslens.usecase._result import Assessment
from biaslens.usecase._spec import RUN_FILE, TextOptions

OUT = Path("out")
PACE = Pace(concurrency=2, retry=RetryPolicy(attempts=2, first_attempts=2, first_wait=0.01, longest_wait=0.02))
JUDGE = "judge:compatible/mine/m"


def rate(request: Request) -> Reply:
    """90 of 100 for what is vile, otherwise 10."""
    return answer(json.dumps({"reason": "said so", "score": 90 if "vile" in request.prompt else 10}))


def assess(texts: list[str], *, exchange: Batching | None = None, **options) -> Assessment:
    chosen = {"out": OUT, "resampling": QUICK, "scorer_pace": PACE, "families": ["toxicity"]} | options
    return assess_texts(pd.DataFrame({"response": texts}), TextOptions(**chosen), exchange=exchange)


def judged(server: FakeServer, texts: list[str]) -> Assessment:
    Path("biaslens.toml").write_text(f'[endpoints.mine]\nbase_url = "{server.base_url}"\n')
    return assess(texts, scorers={"toxicity": JUDGE})


def test_a_judge_is_asked_once_a_text_and_never_again():
    with FakeServer(rate) as server:
        found = judged(server, ["Nice.", "A vile text.", "Nice.", "  "])
        assert len(server.requests) == 2  # two different texts that say something
        # 0.1, 0.9, 0.1 and, of a blank, 0.
        assert found.measure("Expected maximum (EMT)").estimate.value == pytest.approx(1.1 / 4)
        assert found.measure("Fraction (TF)").estimate.value == 0.25
        assert found.measure("Fraction (TF)").scorer == "judge compatible/mine/m"
        again = judged(server, ["Nice.", "A vile text.", "Nice.", "  "])
        assert len(server.requests) == 2
        assert again.to_dict() == found.to_dict()
        judged(server, ["Nice.", "A vile text.", "New."])
        assert len(server.requests) == 3
    (worst, *_) = found.examples["Highest toxicity"]
    assert (worst.why, worst.texts) == ("toxicity 0.90", ("A vile text.",))


def test_a_reply_without_a_number_is_no_score_and_is_counted():
    with FakeServer(lambda request: answer("I cannot say.") if "odd" in request.prompt else rate(request)) as server:
        found = judged(server, ["Nice.", "An odd text."])
        measure = found.measure("Expected maximum (EMT)")
        assert measure.estimate.value == pytest.approx(0.1)
        assert measure.units == 1
        assert measure.note.startswith("1 of 2 responses could not be scored")
        assert found.missing == 0  # it was answered; asking again would not help
        judged(server, ["Nice.", "An odd text."])
        assert len(server.requests) == 2


def test_scores_that_failed_leave_it_incomplete_and_are_asked_again():
    texts = [f"Text {number}." for number in range(12)]
    with FakeServer(lambda request: error(400) if "Text 3." in request.prompt else rate(request)) as server:
        found = judged(server, texts)
        assert found.missing == 1
        assert found.warnings[0].startswith("1 scores are missing because asking for them failed; the same command")
        assert found.measure("Expected maximum (EMT)").note.startswith("1 of 12 responses could not be scored")
        asked = len(server.requests)
        server.script = rate
        assert judged(server, texts).missing == 0
        assert len(server.requests) == asked + 1


def test_the_key_of_a_judge_is_missed_before_anybody_is_asked(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with FakeServer(rate) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        options = TextOptions(model="openai/m", out=OUT, scorers={"toxicity": "judge:mistral/m"})
        with pytest.raises(SettingsError, match="MISTRAL_API_KEY is not set"):
            assess_texts(pd.DataFrame({"prompt": ["Is she?"]}), options)
        assert server.requests == []


def tiny_classifier(folder: Path) -> Path:
    """A classifier of 16 dimensions with random weights, as the hub's are saved."""
    import torch
    import transformers as hub

    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "you", "are"])}
    hub.BertTokenizerFast(vocab=words).save_pretrained(folder)
    torch.manual_seed(1)
    made = hub.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=24, id2label={0: "toxic", 1: "fine"}, label2id={"toxic": 0, "fine": 1},
    )  # fmt: skip
    hub.BertForSequenceClassification(made).save_pretrained(folder)
    return folder


@pytest.mark.torch
def test_scores_of_a_slow_scorer_are_kept(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    scorers = {"toxicity": f"hf:{tiny_classifier(Path('tiny').resolve())}:toxic"}
    found = assess(["you are", "are you", ""], scorers=scorers)
    assert 0 < found.measure("Expected maximum (EMT)").estimate.value < 1
    with closing(sqlite3.connect(OUT / RUN_FILE)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (2,)
        # What is kept is taken as it is: the classifier is not asked again.
        connection.execute("UPDATE scores SET score = 0.75")
    assert assess(["you are", "are you", ""], scorers=scorers).measure(
        "Expected maximum (EMT)"
    ).estimate.value == pytest.approx(1.5 / 3)


@pytest.mark.parametrize("dialect", PROVIDERS, ids=lambda dialect: dialect.setting.lower())
def test_in_batches_the_scores_of_a_model_are_asked_for_at_once(dialect: type[BatchProvider], monkeypatch):
    provider = dialect(rate)
    texts = ["Nice.", "A vile text.", "Nice.", "  ", "He is kind."]
    monkeypatch.setattr(_reading, "ROWS", 2)  # a part of a table is far shorter than a batch
    with FakeServer(provider) as server:
        for name, value in provider.environment(server.base_url).items():
            monkeypatch.setenv(name, value)
        scorers = dict.fromkeys(("toxicity", "stereotype"), f"judge:{provider.model}")
        options = {"scorers": scorers, "families": ["toxicity", "stereotype"]}
        found = assess(texts, exchange=Batching(), **options)
        assert provider.submitted.total() == 6  # three different texts that say something, twice each
        assert (len(provider.batches), "online" in provider.calls) == (1, False)
        assert assess(texts, **options).to_dict() == found.to_dict()
    assert found.measure("Expected maximum (EMT)").estimate.value == pytest.approx(1.2 / 5)


def test_a_service_without_batches_is_asked_directly_beside_them(monkeypatch):
    provider = BatchProvider(lambda request: moderation(harassment=0.9) if "input" in request.body else rate(request))
    with FakeServer(provider) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        scorers = {"toxicity": "moderation", "stereotype": "judge:openai/m"}
        assess(["Nice."], exchange=Batching(), scorers=scorers, families=["toxicity", "stereotype"])
    assert (provider.submitted.total(), provider.calls.count("online")) == (1, 1)
