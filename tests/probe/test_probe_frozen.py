"""The frozen model: its last logits are those of the full model, whatever stands beside a text."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import transformers  # noqa: E402
from tiny_models import ARCHITECTURES, frozen, network, tokenizer  # noqa: E402

from biaslens.errors import InputError  # noqa: E402
from biaslens.probe.backbone import freeze, load_frozen  # noqa: E402
from biaslens.probe.tuning import fresh_delta, prompt_vectors  # noqa: E402

pytestmark = pytest.mark.torch

TEXTS = ["it is a good text", "bad", "this is the end , and another one is here . it was so"]


def full_logits(model, vectors, ids):
    """By the model's own forward pass over everything, alone in its batch."""
    embedded = torch.cat([vectors, model.network.get_input_embeddings()(torch.tensor(ids))])[None]
    return model.network(inputs_embeds=embedded).logits[0, -1]


@pytest.mark.parametrize("kind", ARCHITECTURES)
@pytest.mark.parametrize("shared", [False, True])
def test_last_logits_are_those_of_the_full_model(kind: str, shared: bool) -> None:
    model = frozen(kind)
    assert model.shares_prompt
    model = replace(model, shares_prompt=shared)
    vectors = prompt_vectors(model, fresh_delta(model, seed=3, noise=1.0))
    ids = model.encode(TEXTS, 8)
    with torch.no_grad():
        together = model.last_logits(vectors, ids)
        alone = torch.stack([full_logits(model, vectors, each) for each in ids])
    assert together.shape == (3, 64)
    torch.testing.assert_close(together, alone, atol=2e-5, rtol=1e-5)
    assert float(alone.std()) > 0.05  # the logits are no constant that would agree with anything


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama", "gemma2"])
def test_the_gradient_of_a_shared_prompt_is_that_of_one_for_each_text(kind: str) -> None:
    model = frozen(kind)
    found = []
    for shared in (True, False):
        delta = fresh_delta(model, seed=3).requires_grad_()
        logits = replace(model, shares_prompt=shared).last_logits(prompt_vectors(model, delta), model.encode(TEXTS, 8))
        torch.nn.functional.cross_entropy(logits, torch.tensor([5, 3, 4])).backward()
        found.append(delta.grad)
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-4)
    assert all(weights.grad is None for weights in model.network.parameters())


def test_an_untuned_prompt_of_no_noise_is_copies_of_the_first_token() -> None:
    model = frozen("gpt2")
    vectors = prompt_vectors(model, fresh_delta(model, seed=1, noise=0.0))
    ids = torch.tensor([[model.bos] * 8 + model.encode(["it is bad"], 8)[0]])
    with torch.no_grad():
        torch.testing.assert_close(
            model.last_logits(vectors, [ids[0, 8:].tolist()])[0], model.network(input_ids=ids).logits[0, -1]
        )


def test_a_saved_model_is_loaded_frozen(tmp_path) -> None:
    network("opt").save_pretrained(tmp_path / "opt")
    tokenizer().save_pretrained(tmp_path / "opt")
    model = load_frozen(str(tmp_path / "opt"), device="cpu")
    assert (model.architecture, model.dtype, model.longest) == ("OPTForCausalLM", "float32", 64)
    assert model.fingerprint() == frozen("opt").fingerprint() != frozen("opt", seed=1).fingerprint()
    assert not any(weights.requires_grad for weights in model.network.parameters())
    assert not model.network.training


def test_an_encoder_is_refused(tmp_path) -> None:
    bert = transformers.BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertForMaskedLM(bert).save_pretrained(tmp_path / "bert")
    tokenizer().save_pretrained(tmp_path / "bert")
    with pytest.raises(InputError, match=r"bert is an encoder; the probe needs a causal") as error:
        load_frozen(str(tmp_path / "bert"), device="cpu")
    assert "\n" not in str(error.value)


def test_a_model_that_looks_ahead_is_refused() -> None:
    llama = network("llama")
    for layer in llama.model.layers:
        layer.self_attn.is_causal = False
    llama.config._attn_implementation = "sdpa"
    with pytest.raises(InputError, match="gives a text other logits beside a longer one than alone"):
        freeze(llama, tokenizer(), name="ahead")


def test_what_is_no_model_gets_one_line(tmp_path) -> None:
    with pytest.raises(InputError, match="no causal language model can be loaded from there") as error:
        load_frozen(str(tmp_path), device="cpu")
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="--device nowhere"):
        load_frozen("x", device="nowhere")
    with pytest.raises(InputError, match="bfloat16 weights on a CPU"):
        load_frozen("x", device="cpu", dtype="bfloat16")


def test_without_a_beginning_of_sequence_token_it_says_what_is_used() -> None:
    plain = tokenizer(bos=None)
    model = freeze(network("gpt2"), plain, name="no-bos")
    assert model.bos == plain.unk_token_id
    assert model.notes == ("the tokenizer has no beginning-of-sequence token; its unk token '<unk>' is used",)
    plain.eos_token = "</s>"
    assert freeze(network("gpt2"), plain, name="no-bos").bos == plain.eos_token_id


def test_label_words_are_tokens_after_a_text() -> None:
    model = frozen()
    assert model.words.ids == (3, 4, 5)
    assert model.words.note == ""


def test_label_words_that_begin_alike_are_refused() -> None:
    with pytest.raises(InputError, match=r"begin with the same token .*give others with --label-words"):
        freeze(network("llama"), tokenizer(), name="x", words=["bad", "so so", "so good"])
    with pytest.raises(InputError, match="give three, for negative, neutral, positive in this order"):
        freeze(network("llama"), tokenizer(), name="x", words=["bad", "good"])


def test_of_label_words_of_several_tokens_the_first_is_asked_for() -> None:
    model = freeze(network("llama"), tokenizer(), name="x", words=["bad", "so so", "good"])
    assert model.words.ids == tuple(tokenizer()("bad so good")["input_ids"])
    assert model.notes == ("of label words of several tokens, the first is asked for: so so",)


def test_texts_are_cut_to_the_positions_of_the_model_and_never_empty() -> None:
    model = frozen("gpt2")
    assert [len(ids) for ids in model.encode(["it " * 100, "it is"], 8)] == [56, 2]
    with pytest.raises(InputError, match="text 2 of 2, '', gives no token"):
        model.encode(["it", ""], 8)


def test_without_torch_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr("biaslens.probe.backbone.find_spec", lambda name: None if name == "torch" else "there")
    with pytest.raises(InputError, match=r"the probe needs torch, which is not installed; pip install '\.\[probe\]'"):
        load_frozen("x")


def test_the_extra_holds_all_that_a_gguf_file_needs():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.partition(">=")[0] for requirement in project["optional-dependencies"]["probe"]}
    assert {"accelerate", "gguf", "torch", "transformers"} <= names
