"""The logits and the gradient are those of PEFT's PromptTuning."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
peft = pytest.importorskip("peft", reason="peft is not installed; pip install --group bench")

from tiny_models import frozen  # noqa: E402

from biaslens.probe.tuning import fresh_delta, prompt_vectors  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_logits_and_gradient_are_those_of_peft(kind) -> None:
    model = frozen(kind)
    ids = model.encode(["it is a good text", "this was so awful ."], 8)
    assert len(ids[0]) == len(ids[1])  # PEFT needs no padding here
    labels = torch.tensor([5, 3])
    delta = fresh_delta(model, seed=1, noise=1.0).requires_grad_()
    ours = model.last_logits(prompt_vectors(model, delta), ids)
    torch.nn.functional.cross_entropy(ours, labels).backward()

    settings = peft.PromptTuningConfig(
        task_type=peft.TaskType.CAUSAL_LM, num_virtual_tokens=8, token_dim=delta.shape[1], num_attention_heads=4
    )
    theirs = peft.get_peft_model(model.network, settings)
    vectors = theirs.prompt_encoder["default"].embedding.weight
    vectors.data = prompt_vectors(model, delta.detach()).clone()
    logits = theirs(input_ids=torch.tensor(ids), attention_mask=torch.ones(2, 5, dtype=torch.long)).logits[:, -1]
    torch.nn.functional.cross_entropy(logits, labels).backward()
    torch.testing.assert_close(ours, logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(delta.grad, vectors.grad, atol=1e-5, rtol=1e-4)
