"""Steps per second of tuning a soft prompt beside PEFT's PromptTuning, in one run on one machine.

    python scripts/bench/probe.py                     # vocabularies of 8,000 and 50,000; one thread, CPU time
    python scripts/bench/probe.py --device cuda --dtype bfloat16 --width 768 --layers 12 --vocabulary 50272

Both sides tune 8 vectors in front of the same 32 texts of 48 tokens a step, on the same random OPT, for the label token
after the text, with AdamW. PEFT is used as its documentation shows: the label is the last token of the input and
``labels`` masks all others; "last logits" lets it compute the loss from ``logits[:, -1]`` instead, "last token" also
asks the model for the last position only (``logits_to_keep=1``), which works where no text is padded. This side is
`biaslens.probe.tuning.tune` as a user runs it, its evaluations included. The sides take turns. Memory is the peak
resident size of a process of its own above what it has before the first step (on a GPU, torch's own count).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from biaslens.probe.backbone import Frozen, freeze
from biaslens.probe.examples import NAMES, Examples, Splits
from biaslens.probe.tuning import TuneOptions, fresh_delta, prompt_vectors, tune

TEXTS, TOKENS, VECTORS, RATE = 32, 48, 8, 0.001
PEFT = ("peft", "peft, last logits", "peft, last token")


def toy(options: argparse.Namespace) -> Frozen:
    """A random OPT whose every word is a token."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<s>", "</s>", *NAMES, "It", "is", "a", "text", ".", "<unk>"]
    words += [f"w{number}" for number in range(options.vocabulary - len(words))]
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", unk_token="<unk>")
    config = transformers.OPTConfig(
        vocab_size=options.vocabulary,
        hidden_size=options.width,
        ffn_dim=4 * options.width,
        num_hidden_layers=options.layers,
        num_attention_heads=options.width // 64,
        max_position_embeddings=128,
        word_embed_proj_dim=options.width,
        init_std=0.08,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    torch.manual_seed(0)
    network = transformers.OPTForCausalLM(config).to(options.device, getattr(torch, options.dtype))
    return freeze(network, tokenizer, name="toy", device=options.device, dtype=options.dtype)


def data(options: argparse.Namespace, texts: int = TEXTS) -> Splits:
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, options.vocabulary - 20, size=(texts, TOKENS))
    lines = tuple(" ".join(f"w{number}" for number in row) for row in drawn)
    train = Examples(lines, tuple(generator.integers(0, 3, size=texts).tolist()))
    return Splits(train, train.some([0, 1]), train.some([]))


def ours(frozen: Frozen, splits: Splits) -> Callable[[int], None]:
    def steps(count: int) -> None:
        options = TuneOptions(vectors=VECTORS, batch=TEXTS, max_steps=count, evaluate_every=count)
        tune(frozen, splits, seed=1, learning_rate=RATE, options=options)

    return steps


def with_peft(frozen: Frozen) -> Any:  # noqa: ANN401 - peft has no types of its own
    """PEFT's prompt on the same network, its vectors those of seed 1 here."""
    from peft import PromptTuningConfig, TaskType, get_peft_model

    model = get_peft_model(frozen.network, PromptTuningConfig(TaskType.CAUSAL_LM, num_virtual_tokens=VECTORS))
    start = prompt_vectors(frozen, fresh_delta(frozen, seed=1, vectors=VECTORS))
    model.prompt_encoder["default"].embedding.weight.data = start.clone()
    return model.to(frozen.device)


def theirs(kind: str, frozen: Frozen, splits: Splits) -> Callable[[int], None]:
    model = with_peft(frozen)
    texts = torch.tensor(frozen.encode(splits.train.texts, VECTORS), device=frozen.device)
    words = torch.tensor([frozen.words.ids[label] for label in splits.train.labels], device=frozen.device)
    whole = torch.cat([texts, words[:, None]], dim=1)
    labels = torch.full_like(whole, -100)
    labels[:, -1] = words
    optimizer = torch.optim.AdamW([weights for weights in model.parameters() if weights.requires_grad], lr=RATE)

    def loss() -> torch.Tensor:
        if kind == "peft":
            return model(input_ids=whole, attention_mask=torch.ones_like(whole), labels=labels).loss
        more = {"logits_to_keep": 1} if kind == "peft, last token" else {}
        logits = model(input_ids=texts, attention_mask=torch.ones_like(texts), **more).logits[:, -1]
        return torch.nn.functional.cross_entropy(logits.float(), words)

    def steps(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            value = loss()
            value.backward()
            optimizer.step()
            float(value.detach())

    return steps


def side(name: str, frozen: Frozen, splits: Splits) -> Callable[[int], None]:
    return ours(frozen, splits) if name == "biaslens" else theirs(name, frozen, splits)


def difference(frozen: Frozen, splits: Splits) -> tuple[float, float]:
    """Largest absolute difference of the logits of both sides, and the largest absolute logit."""
    ids = frozen.encode(splits.train.texts, VECTORS)
    with torch.no_grad():
        vectors = prompt_vectors(frozen, fresh_delta(frozen, seed=1, vectors=VECTORS))
        here = frozen.last_logits(vectors, ids)
        tokens = torch.tensor(ids, device=frozen.device)
        there = with_peft(frozen)(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits[:, -1].float()
    return float((here - there).abs().max()), float(there.abs().max())


def clock(device: str) -> float:
    """Seconds of CPU time, or of wall time once a GPU has done its work."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def status(name: str) -> float:
    """A field of this process's status (MB): VmRSS is its memory now, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def growth(work: Callable[[int], None], device: str) -> float:
    """Peak memory of some steps above what there is before them (MB)."""
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work(3)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak becomes what there is now
    before = status("VmRSS")
    work(3)
    return status("VmHWM") - before


def memory(name: str, options: argparse.Namespace) -> float:
    """Peak memory of some steps in a process of its own, above what it has before (MB)."""
    command = [sys.executable, __file__, "--child", name, "--vocabulary", str(options.vocabulary)]
    for option in ("device", "dtype", "width", "layers", "threads"):
        command += [f"--{option}", str(getattr(options, option))]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def child(options: argparse.Namespace) -> None:
    frozen, splits = toy(options), data(options)
    if options.child == "biaslens":
        import peft  # noqa: F401 - so that imports are nobody's memory
    print(json.dumps(growth(side(options.child, frozen, splits), options.device)))


def compare(options: argparse.Namespace) -> None:
    frozen, splits = toy(options), data(options)
    apart, largest = difference(frozen, splits)
    names = ("biaslens", *PEFT)
    works = {name: side(name, frozen, splits) for name in names}
    rates: dict[str, list[float]] = {name: [] for name in names}
    for number in range(options.rounds + 1):
        for name, work in works.items():
            begun = clock(options.device)
            work(options.steps)
            if number:  # the first round warms up
                rates[name].append(options.steps / (clock(options.device) - begun))
    print(
        f"vocabulary {options.vocabulary:,}, OPT of {options.layers} layers and width {options.width}, "
        f"{TEXTS} x {TOKENS} tokens, {options.device} {options.dtype}: "
        f"logits differ by at most {apart:.1e} (largest {largest:.1f})"
    )
    for name in names:
        ratios = [a / b for a, b in zip(rates["biaslens"], rates[name], strict=True)]
        print(
            f"  {name:18} {statistics.median(rates[name]):8.2f} steps/s, {memory(name, options):6.0f} MB of peak memory"
            + ("" if name == "biaslens" else f"; biaslens is {statistics.median(ratios):.2f} times as fast"),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[8_000, 50_000])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5, help="of a turn")
    parser.add_argument("--child", choices=("biaslens", *PEFT))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for vocabulary in options.vocabulary:
        options.vocabulary = vocabulary
        if options.child:
            child(options)
        else:
            compare(options)


if __name__ == "__main__":
    main()
