"""The error of every function of this package."""

from __future__ import annotations

from typing import Any


class PegboardError(Exception):
    """Why a request failed: Pegboard refused it, or could not be started or reached.

    An error that a tool itself reports is not an exception but a result with `is_error`.
    """

    code: str
    """The code; each has a page in docs/errors."""
    message: str
    """What happened."""
    remedy: str
    """The next step."""
    retryable: bool
    """Whether the same request may succeed later."""
    status: int | None
    """The HTTP status, if there was a response."""
    details: dict[str, Any]
    """`field`, `server`, `tool` and `nearest`, where they are known."""

    def __init__(
        self,
        code: str,
        message: str,
        remedy: str = "",
        *,
        retryable: bool = False,
        status: int | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(code, message, remedy)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.retryable = retryable
        self.status = status
        self.details = details or {}

    def __str__(self) -> str:
        parts = (self.message.removesuffix(".") + ".", self.remedy, f"[{self.code}]")
        return " ".join(part for part in parts if part)


def of_body(body: Any, status: int | None) -> PegboardError:
    """Returns the error of a response, or of the program's output with `--json`."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        message = f"the response with status {status} is not one of Pegboard"
        return PegboardError("HTTP_PROTOCOL", message, "Check the URL.", status=status)
    # The program writes its class as `code` and the code as `reason`; the API has only `code`.
    code = error.get("reason") or error.get("code") or "INTERNAL"
    known = ("field", "server", "tool", "nearest")
    return PegboardError(
        str(code),
        str(error.get("message", "")),
        str(error.get("remedy", "")),
        retryable=error.get("retryable") is True,
        status=status,
        details={key: error[key] for key in known if key in error},
    )
