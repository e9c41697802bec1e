"""Hugging Face and Detoxify classifiers: a tiny one made here, with random weights."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from biaslens.errors import InputError
from biaslens.settings import load_settings
from biaslens.usecase import _scorers as classifier_module
from biaslens.usecase._scoring import Scorer, open_scorer

TEXTS = ["you are kind", "you are an idiot", "", "women talk talk talk", "kind " * 100, "\U0001f600"]


@pytest.fixture(scope="module")
def hub() -> Any:
    import transformers

    return transformers


@pytest.fixture
def offline_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def save(hub: Any, folder: Path, labels: list[str], **config: Any) -> Path:
    """A BERT of 16 dimensions and its tokenizer, saved as the hub's models are."""
    import torch

    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "you", "are", "kind", "an", "idiot", "women", "talk"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    hub.BertTokenizerFast(vocab={word: number for number, word in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(1)
    made = hub.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=24,
        initializer_range=2.0,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        **config,
    )
    hub.BertForSequenceClassification(made).save_pretrained(folder)
    return folder


def logits(hub: Any, folder: Path, text: str) -> Any:
    import torch

    tokenizer = hub.AutoTokenizer.from_pretrained(folder)
    model = hub.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=24)
        return model(**inputs).logits[0].double().numpy()


def open_local(name: str, kind: Any = "toxicity") -> Scorer:
    found = open_scorer(kind, name, load_settings())
    assert isinstance(found, classifier_module.ClassifierScorer)
    return found


def softmax(values: Any) -> Any:
    return np.exp(values - values.max()) / np.exp(values - values.max()).sum()


@pytest.mark.torch
def test_the_score_is_the_softmax_of_the_label(hub: Any, tmp_path: Path) -> None:
    folder = save(hub, tmp_path / "tiny", ["clean", "toxic"])
    scorer = open_local(f"hf:{folder}:toxic")
    expected = [softmax(logits(hub, folder, text))[1] if text else 0.0 for text in TEXTS]
    found = scorer.score(TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert len(set(found.round(6))) > 2
    assert scorer.slow
    assert scorer.name.startswith(f"{folder} (toxic; transformers ")
    assert "first 24 tokens" in scorer.note


@pytest.mark.torch
def test_a_model_of_several_labels_at_once_is_read_by_sigmoid(hub: Any, tmp_path: Path) -> None:
    folder = save(hub, tmp_path / "tiny", ["toxic", "obscene", "threat"], problem_type="multi_label_classification")
    found = open_local(f"hf:{folder}").score(TEXTS[:1])
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-logits(hub, folder, TEXTS[0])[0])), atol=1e-6)


@pytest.mark.torch
def test_labels_that_begin_with_stereotype_are_added_up(hub: Any, tmp_path: Path) -> None:
    folder = save(hub, tmp_path / "tiny", ["stereotype_gender", "unrelated", "stereotype_race"])
    found = open_local(f"hf:{folder}", "stereotype").score(TEXTS[:1])
    probabilities = softmax(logits(hub, folder, TEXTS[0]))
    np.testing.assert_allclose(found, probabilities[0] + probabilities[2], atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "labels", "chosen"),
    [
        ("toxicity", ["LABEL_0", "LABEL_1"], "LABEL_1"),
        ("toxicity", ["neutral", "Toxicity", "insult"], "Toxicity"),
        ("sentiment", ["NEGATIVE", "NEUTRAL", "POSITIVE"], "POSITIVE"),
    ],
)
def test_well_known_labels_are_guessed(hub: Any, tmp_path: Path, kind: str, labels: list[str], chosen: str) -> None:
    assert f"({chosen}; " in open_local(f"hf:{save(hub, tmp_path / 'tiny', labels)}", kind).name


@pytest.mark.torch
@pytest.mark.parametrize("label", ["", ":rude"])
def test_a_label_that_cannot_be_told_is_asked_for(hub: Any, tmp_path: Path, label: str) -> None:
    folder = save(hub, tmp_path / "tiny", ["red", "green", "blue"])
    with pytest.raises(InputError, match="its labels are red, green, blue") as caught:
        open_local(f"hf:{folder}{label}")
    assert "\n" not in str(caught.value)


@pytest.mark.torch
def test_other_weights_are_another_scorer(hub: Any, tmp_path: Path) -> None:
    first = open_local(f"hf:{save(hub, tmp_path / 'one', ['a', 'toxic'])}").identity
    second = open_local(f"hf:{save(hub, tmp_path / 'two', ['a', 'toxic'])}").identity
    assert first != second


@pytest.mark.torch
@pytest.mark.usefixtures("offline_hub")
def test_a_name_that_is_not_found_is_one_line(hub: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hf:nobody/nothing: no text classifier can be loaded") as caught:
        open_local("hf:nobody/nothing")
    assert "\n" not in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no text classifier can be loaded"):
        open_local(f"hf:{tmp_path / 'empty'}")


@pytest.mark.parametrize(
    ("name", "missing", "install"),
    [
        ("hf:any/model", "transformers and torch", r"pip install '\.\[classifiers\]'"),
        ("detoxify", "detoxify and transformers and torch", r"pip install '\.\[classifiers\]' detoxify"),
    ],
)
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, name: str, missing: str, install: str) -> None:
    monkeypatch.setattr(classifier_module, "find_spec", lambda package: None)
    with pytest.raises(InputError, match=f"needs {missing}, .* not installed; {install}$"):
        open_scorer("toxicity", name, load_settings())


def test_an_unknown_variant_of_detoxify_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="no variant 'tiny'; there are original, unbiased, multilingual"):
        open_scorer("toxicity", "detoxify:tiny", load_settings())


@pytest.mark.torch
def test_detoxify_reads_a_checkpoint_of_its_own_form(hub: Any, tmp_path: Path) -> None:
    pytest.importorskip("detoxify")
    import torch

    from biaslens.usecase._scorers import DetoxifyScorer

    folder = save(hub, tmp_path / "tiny", ["toxic", "insult"])
    model = hub.BertForSequenceClassification.from_pretrained(folder)
    architecture = {
        "model_type": str(folder),
        "model_name": "BertForSequenceClassification",
        "tokenizer_name": "BertTokenizerFast",
        "num_classes": 2,
    }
    config = {"dataset": {"args": {"classes": ["toxic", "insult"]}}, "arch": {"args": architecture}}
    torch.save({"config": config, "state_dict": model.state_dict()}, tmp_path / "tiny.ckpt")
    scorer = DetoxifyScorer("original", checkpoint=tmp_path / "tiny.ckpt", folder=folder)
    expected = [1 / (1 + np.exp(-logits(hub, folder, text)[0])) if text else 0.0 for text in TEXTS[:4]]
    np.testing.assert_allclose(scorer.score(TEXTS[:4]), expected, atol=1e-5)
    assert scorer.name.startswith("Detoxify original (detoxify ")


def test_nothing_heavy_is_imported_for_the_offline_scorers() -> None:
    import subprocess

    program = (
        "import sys; from biaslens.settings import load_settings; "
        "from biaslens.usecase._scoring import open_scorer; "
        "open_scorer('toxicity', 'offline', load_settings()); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
