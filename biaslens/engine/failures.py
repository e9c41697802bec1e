"""When so much fails that going on would only burn time and money."""

from __future__ import annotations

from collections import deque

from biaslens.errors import AuthenticationError, ModelError, RejectedError, RunStoppedError


class FailureGate:
    """Stops a run whose requests keep failing.

    It stops at once for a wrong key or a model that does not exist; after `first` failures while nothing has
    succeeded; and when more than `share` of the last `window` requests failed. HTTP 403 may be about the one prompt:
    it counts as any failure.

    Parameters
    ----------
    model
        Name for the message.
    share
        Largest tolerated share of failures, in [0, 1].
    window, first
        Numbers of requests.
    """

    def __init__(self, model: str, *, share: float = 0.2, window: int = 100, first: int = 5) -> None:
        self._model = model
        self._share = share
        self._first = first
        self._recent: deque[bool] = deque(maxlen=window)
        self._succeeded = False

    def success(self) -> None:
        """Count a request that was answered."""
        self._succeeded = True
        self._recent.append(False)

    def failure(self, error: ModelError, *, too_long: bool = False) -> RunStoppedError | None:
        """Count a request that was given up on.

        Parameters
        ----------
        error
            What its last attempt failed with.
        too_long
            Whether the provider asks for a longer wait than anyone sits through.

        Returns
        -------
        RunStoppedError or None
            The error that should end the run, saying why and how to go on; None to go on.
        """
        self._recent.append(True)
        failed, seen = sum(self._recent), len(self._recent)
        no_key = isinstance(error, AuthenticationError) and error.status != 403
        if no_key or (isinstance(error, RejectedError) and error.status == 404):
            return RunStoppedError(f"{error}; stopped, every answer so far is kept")
        if too_long:
            return RunStoppedError(
                f"{error}; the provider asks to wait {error.retry_after:.0f} s; stopped, every answer so far is kept; "
                "the same command goes on later"
            )
        if not self._succeeded and failed >= self._first:
            return RunStoppedError(
                f"{self._model}: all of the first {failed} requests failed, the last with: {error}; "
                "stopped; the same command tries again"
            )
        if self._succeeded and seen >= 4 * self._first and failed > self._share * seen:
            return RunStoppedError(
                f"{self._model}: {failed} of the last {seen} requests failed, the last with: {error}; "
                "stopped, every answer so far is kept; the same command asks only what is missing"
            )
        return None
