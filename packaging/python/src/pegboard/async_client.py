"""The asynchronous client: the same methods, awaited. Requests run in threads of the event loop's executor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from ._errors import PegboardError
from ._results import CallResult, Hit, ToolDetails, ToolUseResult
from ._run import MAX_CONCURRENT, MAX_ROUNDS, Pending, Run, own_arguments, own_result
from .client import Loading, Pegboard, Provider

AsyncHandlers = Mapping[str, Callable[[dict[str, Any]], Any]]
"""The program's own functions, by the names of their tools; they may be coroutine functions."""


class AsyncPegboard:
    """A client of a Pegboard on this machine, for programs with an event loop."""

    def __init__(self, client: Pegboard) -> None:
        """Use `AsyncPegboard.open`."""
        self._client = client

    @classmethod
    async def open(
        cls,
        *,
        url: str | None = None,
        token: str | None = None,
        program: str | os.PathLike[str] | None = None,
        project: str | os.PathLike[str] | None = None,
        config_dir: str | os.PathLike[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        start_timeout: float = 30.0,
    ) -> AsyncPegboard:
        """See `Pegboard.open`."""
        client = await asyncio.to_thread(
            Pegboard.open,
            url=url,
            token=token,
            program=program,
            project=project,
            config_dir=config_dir,
            state_dir=state_dir,
            start_timeout=start_timeout,
        )
        return cls(client)

    @property
    def url(self) -> str:
        """The URL of the Pegboard."""
        return self._client.url

    async def close(self) -> None:
        """See `Pegboard.close`."""
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> AsyncPegboard:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def definitions(self, provider: Provider, *, loading: Loading = "meta") -> list[Any]:
        """See `Pegboard.definitions`."""
        return await asyncio.to_thread(self._client.definitions, provider, loading=loading)

    async def context_summary(self) -> str:
        """See `Pegboard.context_summary`."""
        return await asyncio.to_thread(self._client.context_summary)

    async def search(self, query: str, *, limit: int = 10) -> list[Hit]:
        """See `Pegboard.search`."""
        return await asyncio.to_thread(self._client.search, query, limit=limit)

    async def describe(self, tool: str) -> ToolDetails:
        """See `Pegboard.describe`."""
        return await asyncio.to_thread(self._client.describe, tool)

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> CallResult:
        """See `Pegboard.call`."""
        return await asyncio.to_thread(self._client.call, tool, arguments, timeout=timeout)

    async def run_tool_use(
        self, provider: Provider, name: str, arguments: Any = None, *, loading: Loading = "meta"
    ) -> ToolUseResult:
        """See `Pegboard.run_tool_use`."""
        return await asyncio.to_thread(
            self._client.run_tool_use, provider, name, arguments, loading=loading
        )

    async def run_tools(
        self,
        client: Any,
        *,
        max_rounds: int = MAX_ROUNDS,
        loading: Loading = "meta",
        handlers: AsyncHandlers | None = None,
        **request: Any,
    ) -> Run:
        """See `Pegboard.run_tools`; `client` is an asynchronous one of the SDK, such as `AsyncAnthropic`."""
        conversation = await asyncio.to_thread(
            self._client._conversation, client, request, loading, max_rounds
        )
        create = conversation.create(client)
        places = asyncio.Semaphore(MAX_CONCURRENT)
        provider: Any = conversation.provider

        async def run(call: Pending) -> ToolUseResult:
            async with places:
                handler = (handlers or {}).get(call.name)
                if handler is None:
                    return await self.run_tool_use(provider, call.name, call.arguments, loading=loading)
                return await _run_own(handler, call.arguments)

        while True:
            response = create(**conversation.request())
            if not hasattr(response, "__await__"):
                message = "`run_tools` of `AsyncPegboard` needs an asynchronous client of the SDK"
                raise PegboardError("REQUEST_INVALID", message, "Use `Pegboard` with this client.")
            calls = conversation.receive(await response)
            if calls is None:
                return conversation.finished()
            conversation.answer(calls, list(await asyncio.gather(*(run(call) for call in calls))))


async def _run_own(handler: Callable[[dict[str, Any]], Any], arguments: Any) -> ToolUseResult:
    try:
        value = handler(own_arguments(arguments))
        return own_result(await value if hasattr(value, "__await__") else value)
    except Exception as error:  # the model reads what went wrong
        return ToolUseResult.failure(f"{type(error).__name__}: {error}", "TOOL_FAILED")
