"""Every error biaslens raises on purpose.

    BiasLensError
    ├── InputError                what the user gave cannot be used
    │   ├── SettingsError         a key, option or configuration file is missing or wrong
    │   ├── UnknownModelError     no such provider or model
    │   └── BenchmarkError        a benchmark file is malformed
    ├── ModelError                asking a model failed; the engine decides what to do next
    │   ├── AuthenticationError   the key is wrong or may not use the model: stop at once
    │   ├── RejectedError         this request will fail the same way again: do not retry
    │   ├── RateLimitError        asked too fast: wait, and ask with less concurrency
    │   ├── UnavailableError      no connection, a timeout or a server fault: wait, and ask again
    │   └── ReplyError            an answer arrived that is not a chat completion
    └── RunError                  a run cannot go on
        ├── RunMismatchError      the run file belongs to another model, benchmark or prompt
        ├── RunLockedError        another process is writing this run file
        ├── StorageError          the run file cannot be read or written
        ├── RunStoppedError       too many requests failed; the answers so far are kept
        ├── RunInterruptedError   somebody stopped it; the answers so far are kept
        └── RunWaitingError       requests are out and have no answers yet

Messages say what was wrong, with what input, and what to do about it, in one line: the command line prints them
as they are.
"""

from __future__ import annotations

import re

from biaslens._util.text import printable, redacted


class BiasLensError(Exception):
    """Base of all errors raised by biaslens.

    Its message is one line, whatever a server, a file or a user put into it: line breaks are spaces, what would move a
    terminal's cursor is shown as an escape, and a key that this process uses is hidden.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(re.sub(r"\s*[\r\n]\s*", " ", redacted(message))))


class InputError(BiasLensError):
    """What the user gave cannot be used."""


class SettingsError(InputError):
    """A key, an option or a configuration file is missing or wrong."""


class UnknownModelError(InputError):
    """No provider or model goes by this name."""


class BenchmarkError(InputError):
    """A benchmark file is malformed."""


class ModelError(BiasLensError):
    """Asking a model failed: what happened, at which provider.

    `status` is the HTTP status of the reply, and `retry_after` the seconds the provider asked us to wait; None where
    there is none.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        # Half a surrogate pair, which a server's JSON can hold, cannot be stored or printed.
        super().__init__(message.encode(errors="replace").decode())
        self.status = status
        self.retry_after = retry_after


class AuthenticationError(ModelError):
    """The key is wrong, or may not use this model: no request of the run can succeed."""


class RejectedError(ModelError):
    """The provider refused this request and would refuse it again."""


class RateLimitError(ModelError):
    """The provider says that we ask too fast (HTTP 429)."""


class UnavailableError(ModelError):
    """No connection, a timeout, or a fault of the server (HTTP 5xx)."""


class ReplyError(ModelError):
    """The provider answered with something that is not a chat completion."""


class RunError(BiasLensError):
    """A run cannot go on."""


class RunMismatchError(RunError):
    """The run file belongs to another model, benchmark, prompt or parameter set."""


class RunLockedError(RunError):
    """Another process is writing this run file."""


class StorageError(RunError):
    """The run file cannot be read or written."""


class RunStoppedError(RunError):
    """The run was stopped because it cannot succeed; everything answered so far is kept."""


class RunInterruptedError(RunError):
    """Somebody stopped the run before it was complete; everything answered so far is kept."""


class RunWaitingError(RunError):
    """Requests are out, by files or in batches, and their answers are not in yet."""
