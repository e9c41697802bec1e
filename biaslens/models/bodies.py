"""How much of a reply is read: a server that sends without end, or packs gigabytes into a kilobyte, fills no memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

from biaslens.errors import ReplyError

MAX_BODY = 8 * 2**20
"""Most bytes of a reply, unpacked: many times the longest answer that a provider gives."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class _Limited:
    """The body of a response, unpacked, as far as it is taken."""

    def __init__(self, stream: Any, encoding: str) -> None:  # noqa: ANN401 - of either httpx
        self._stream = stream
        self._packed = encoding in ("gzip", "x-gzip", "deflate")
        if not self._packed and encoding != "identity":
            raise ReplyError(f"the reply is encoded as {encoding[:20]!r}, which was not asked for")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._unpacked() if self._packed else self._stream:
            size += len(part)
            if size > MAX_BODY:
                raise ReplyError(f"the reply has more than {MAX_BODY:,} bytes, which is the most that is read")
            yield part

    async def _unpacked(self) -> AsyncIterator[bytes]:
        unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
        parts: AsyncIterable[bytes] = self._stream
        try:
            async for part in parts:
                yield unpacker.decompress(part, MAX_BODY + 1)
        except zlib.error as error:
            raise ReplyError(f"the reply cannot be unpacked ({error})") from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def limited_bodies(stream: type[Any]) -> dict[str, list[Callable[[Any], Awaitable[None]]]]:
    """Event hooks of an HTTP client that reads no more than `MAX_BODY` bytes of a reply.

    Parameters
    ----------
    stream
        ``AsyncByteStream`` of the client's library: httpx, or its namesake httpx2.
    """
    body = type("Body", (_Limited, stream), {})

    async def ask(request: Any) -> None:  # noqa: ANN401
        request.headers["accept-encoding"] = "gzip, deflate"

    async def limit(response: Any) -> None:  # noqa: ANN401
        response.stream = body(response.stream, response.headers.pop("content-encoding", "identity").strip().lower())

    return {"request": [ask], "response": [limit]}
