"""The steps of the action, run by bash as a runner would; `gh` notes what it is told, and the server is scripted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from fake_server import FakeServer, by_kind

ACTION = yaml.safe_load((Path(__file__).parents[2] / "action" / "action.yml").read_text())


def steps(folder: Path, server: FakeServer, **inputs: str) -> tuple[dict[str, str], str]:
    """Run all steps but the installation; give the outputs, and what stands on the pull request."""
    (folder / "bin").mkdir()
    (folder / "bin" / "gh").write_text(
        '#!/bin/sh\nwhile [ "$1" != --body-file ]; do shift; done\ncat "$2" > comment.md\n'
    )
    (folder / "bin" / "biaslens").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m biaslens "$@"\n')
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
    values = {name: given["default"] for name, given in ACTION["inputs"].items() if "default" in given} | inputs
    outputs: dict[str, str] = {}
    for step in ACTION["runs"]["steps"][1:]:
        known = {f"${{{{ inputs.{name} }}}}": value for name, value in values.items()}
        known |= {f"${{{{ steps.gate.outputs.{name} }}}}": value for name, value in outputs.items()}
        known |= {"${{ github.token }}": "t", "${{ github.event.pull_request.number }}": "7"}
        environment = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(folder / "step-summary"),
            "OPENAI_API_KEY": "test",
            "OPENAI_BASE_URL": server.base_url,
            **{name: known[value] for name, value in step["env"].items()},
        }
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], env=environment, cwd=folder, capture_output=True, text=True
        )
        if (folder / "outputs").exists():
            outputs = dict(line.split("=", 1) for line in (folder / "outputs").read_text().splitlines())
        if step["id"] == "decide":
            outputs["exit"] = str(done.returncode)
        else:
            assert done.returncode == 0, done.stderr
    return outputs, (folder / "comment.md").read_text()


@pytest.mark.parametrize(("limit", "decision", "code"), [("100", "passed", "0"), ("1", "failed", "1")])
def test_a_slice_is_evaluated_decided_and_commented(tmp_path, limit, decision, code):
    slice_ = "--attribute age --roles-per-attribute 3 --questions-per-kind 3 --kind yes_no --trials 1"
    with FakeServer(lambda request: by_kind(request, biased=0.5)) as server:
        outputs, comment = steps(
            tmp_path, server, model="openai/fake", evaluate=slice_, gate=f"--max-rate {limit} --these-questions"
        )
        assert len(server.log) == 9
    assert (outputs["decision"], outputs["exit"]) == (decision, code)
    assert comment == (tmp_path / "step-summary").read_text()
    assert comment.startswith(f"### Social bias: {decision.capitalize()}: openai/fake, 9 questions")
