"""Answer the requests in a folder, as a provider's batch or vLLM's run-batch would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fake_server import Reply, Request


def json_lines(folder: Path, names: str) -> list[dict]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob(names)))
    return [json.loads(line) for text in texts for line in text.splitlines()]


def output_line(line: dict, reply: Callable[[Request], Reply], number: int = 0) -> dict:
    made = reply(Request(number, line.get("url", "/v1/chat/completions"), {}, line["body"]))
    choice = {"finish_reason": made.finish_reason, "message": {"role": "assistant", "content": made.text}}
    body = {"model": "writer-2024-07-18", "choices": [choice], "usage": {}}
    return {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}


def answer_files(folder: Path, reply: Callable[[Request], Reply]) -> int:
    """Answer what lies there and is not answered; how many that were."""
    known = {line["custom_id"] for line in json_lines(folder, "output-*")}
    new = [line for line in json_lines(folder, "requests-*") if line["custom_id"] not in known]
    text = "".join(json.dumps(output_line(line, reply, number)) + "\n" for number, line in enumerate(new))
    (folder / f"output-{len(known)}.jsonl").write_text(text, encoding="utf-8")
    return len(new)
