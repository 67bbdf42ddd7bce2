"""The conversation of `run_tools`, without I/O: the synchronous and the asynchronous client drive it.

Every call that the model makes gets exactly one result, in the order of the calls, whatever happens. So `messages`
can always be sent again.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._errors import PegboardError
from ._results import ToolUseResult

MAX_CONCURRENT = 8
"""Calls of one response that run at the same time."""
MAX_ROUNDS = 20
"""Requests to the model, unless another number is given."""


@dataclass(frozen=True)
class Call:
    """A call of the model and its result."""

    id: str
    name: str
    arguments: Any
    result: ToolUseResult


@dataclass
class Run:
    """The outcome of `run_tools`."""

    text: str
    """The text of the last response."""
    stop: str
    """Why the model stopped, in the provider's words (`end_turn`, `stop`, `completed`, `refusal`, `max_tokens`, …), or
    `max_rounds`."""
    response: Any
    """The SDK's last response."""
    messages: list[Any]
    """The conversation, to continue it: the next `messages` or `input`."""
    rounds: int
    """The number of requests to the model."""
    calls: list[Call] = field(default_factory=list)
    """All calls of the model, in order."""


@dataclass(frozen=True)
class Pending:
    """A call of the model without a result."""

    id: str
    name: str
    arguments: Any


class Conversation(ABC):
    """A conversation in the form of one provider's API."""

    provider: str
    history: str = "messages"
    """The request's key of the conversation."""

    def __init__(self, request: Mapping[str, Any], definitions: list[Any], max_rounds: int) -> None:
        self._request = dict(request)
        if self._request.get("stream"):
            message = "`stream` is not possible with `run_tools`"
            raise PegboardError("REQUEST_INVALID", message, "Remove it, or use `run_tool_use` in your own loop.")
        self._request["tools"] = [*definitions, *(self._request.get("tools") or [])]
        earlier = self._request.get(self.history) or []
        self.messages: list[Any] = self.initial(earlier)
        self._max_rounds = max(1, max_rounds)
        self._run = Run(text="", stop="", response=None, messages=self.messages, rounds=0)

    def request(self) -> dict[str, Any]:
        """The next request."""
        return {**self._request, self.history: list(self.messages)}

    def receive(self, response: Any) -> list[Pending] | None:
        """Adds a response. Returns the calls to run, or `None` if the run is over."""
        run = self._run
        run.rounds += 1
        run.response = response
        run.text, run.stop = self.text(response), self.stop(response)
        calls = self.calls(response)
        self.add_response(response)
        if not calls:
            return [] if self.continues(response) and run.rounds < self._max_rounds else None
        if self.is_cut_off(response):
            self.refuse(calls, "Not run: the response ended before it was complete.")
            return None
        if run.rounds >= self._max_rounds:
            run.stop = "max_rounds"
            self.refuse(calls, "Not run: the limit of requests to the model is reached.")
            return None
        return calls

    def answer(self, calls: list[Pending], results: list[ToolUseResult]) -> None:
        """Adds the results of all calls of the last response."""
        for call, result in zip(calls, results):
            self._run.calls.append(Call(call.id, call.name, call.arguments, result))
        if calls:
            self.add_results(calls, results)

    def refuse(self, calls: list[Pending], why: str) -> None:
        """Gives calls that are not run a result that says so."""
        self.answer(calls, [ToolUseResult.failure(why, "CANCELLED") for _ in calls])

    def finished(self) -> Run:
        """The outcome."""
        return self._run

    def initial(self, earlier: Any) -> list[Any]:
        """The conversation before the first request."""
        return list(earlier)

    def continues(self, response: Any) -> bool:
        """Whether a response without calls is not the last one."""
        return False

    @abstractmethod
    def create(self, client: Any) -> Any:
        """The SDK's method that sends a request."""

    @abstractmethod
    def text(self, response: Any) -> str: ...

    @abstractmethod
    def stop(self, response: Any) -> str: ...

    @abstractmethod
    def calls(self, response: Any) -> list[Pending]: ...

    @abstractmethod
    def is_cut_off(self, response: Any) -> bool: ...

    @abstractmethod
    def add_response(self, response: Any) -> None: ...

    @abstractmethod
    def add_results(self, calls: list[Pending], results: list[ToolUseResult]) -> None: ...


def own_arguments(arguments: Any) -> dict[str, Any]:
    """The arguments for a function of the program. Raises `ValueError` if they are not an object."""
    parsed = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    if not isinstance(parsed, dict):
        raise ValueError("the arguments are not an object")
    return parsed


def own_result(value: Any) -> ToolUseResult:
    """The result of a function of the program."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return ToolUseResult(is_error=False, content=[{"type": "text", "text": text}])
