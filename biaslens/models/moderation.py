"""OpenAI's moderation endpoint as a model: asked with a text, it answers with a score for each category."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from biaslens.errors import ReplyError
from biaslens.models.base import Completion, Message, Params
from biaslens.models.openai import OpenAIModel

_QUOTED = 300


class ModerationModel(OpenAIModel):
    """A moderation model of OpenAI: ``openai-moderation/omni-moderation-latest``.

    The last message is what gets moderated; the answer's text is the JSON object of its category scores, each in
    [0, 1]. Parameters are ignored. OpenAI makes no charge for it.
    """

    provider = "openai-moderation"

    async def _create(self, messages: Sequence[Message], params: Params) -> Any:  # noqa: ANN401
        del params
        return await self._client.moderations.create(model=self._model_id, input=messages[-1].content)

    def _read(self, reply: Any) -> Completion:  # noqa: ANN401 - the SDK builds its class from any JSON, without checks
        try:
            scores = reply.results[0].category_scores.model_dump(by_alias=True, exclude_none=True)
            text = json.dumps({name: float(score) for name, score in scores.items()})
        except (AttributeError, IndexError, TypeError, ValueError):
            quoted = str(reply)[:_QUOTED]
            raise ReplyError(f"{self._provider}: the reply holds no category scores: {quoted!r}") from None
        return Completion(text=text, finish_reason="stop", model=str(getattr(reply, "model", None) or ""))
