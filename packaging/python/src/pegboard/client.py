"""The synchronous client."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from ._errors import PegboardError
from ._http import Api
from ._process import start, stop
from ._providers import provider_of
from ._results import CallResult, Hit, ToolDetails, ToolUseResult
from ._run import MAX_CONCURRENT, MAX_ROUNDS, Conversation, Pending, Run, own_arguments, own_result

Provider = Literal["anthropic", "openai", "openai-responses", "openai-chat", "gemini", "bedrock"]
"""A model provider's format. `openai` is `openai-responses`."""

Loading = Literal["meta", "all"]
"""`meta`: five small tools that find and call all others. `all`: all definitions."""

Handlers = Mapping[str, Callable[[dict[str, Any]], Any]]
"""The program's own functions, by the names of their tools."""


class Pegboard:
    """A client of a Pegboard on this machine. All methods can be used from several threads."""

    def __init__(self, api: Api, process: subprocess.Popen[str] | None = None) -> None:
        """Use `Pegboard.open`."""
        self._api = api
        self._process = process
        self._is_closed = False
        self._is_discovered = False
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        *,
        url: str | None = None,
        token: str | None = None,
        program: str | os.PathLike[str] | None = None,
        project: str | os.PathLike[str] | None = None,
        config_dir: str | os.PathLike[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        start_timeout: float = 30.0,
    ) -> Pegboard:
        """Connects to the Pegboard at `url`, to a running one with the same configuration, or to a new one.

        A new one ends with `close`, and with this process. Raises `PegboardError` if there is none.
        """
        if url is not None:
            return cls(Api(url, token))
        started = start(program, project, config_dir, state_dir, start_timeout)
        return cls(Api(started.url, token if token is not None else started.token), started.process)

    @property
    def url(self) -> str:
        """The URL of the Pegboard."""
        return self._api.url

    def close(self) -> None:
        """Ends a Pegboard that this client started, with all its servers. A shared one keeps running."""
        with self._lock:
            process, self._process, self._is_closed = self._process, None, True
        if process is not None:
            stop(process)

    def __enter__(self) -> Pegboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def definitions(self, provider: Provider, *, loading: Loading = "meta") -> list[Any]:
        """Returns the tools for a request to a model: the value of the request's `tools`."""
        if loading == "all":
            self._discover()
        query = {"format": _format(provider), "loading": loading}
        tools: list[Any] = self._open_api().get(["definitions"], query)["tools"]
        return tools

    def context_summary(self) -> str:
        """Returns a summary of all tools for a system prompt, in under 500 tokens."""
        self._discover()
        return str(self._open_api().get(["context"])["summary"]["text"])

    def search(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Searches tools by words and meaning, best first."""
        self._discover()
        hits: list[Hit] = self._open_api().get(["search"], {"q": query, "limit": limit})["hits"]
        return hits

    def describe(self, tool: str) -> ToolDetails:
        """Returns all details of a tool."""
        self._discover()
        details: ToolDetails = self._open_api().get(["tools", tool])
        return details

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> CallResult:
        """Calls a tool; its server is started if necessary. A tool's own error is a result with `is_error`.

        Raises `PegboardError` if the tool did not respond: unknown tool, invalid arguments, denied by a policy or a
        person, a failing server. A tool with the policy `ask` waits for a person's decision.
        """
        body = {"arguments": dict(arguments or {})}
        response = self._open_api().post(["tools", tool, "call"], body, timeout)
        return CallResult(response["isError"], response["outcome"], response["result"])

    def run_tool_use(
        self, provider: Provider, name: str, arguments: Any = None, *, loading: Loading = "meta"
    ) -> ToolUseResult:
        """Runs a call of a model that got `definitions(provider, loading=loading)`.

        `arguments` are what the model wrote: an object, or a JSON text. Errors are results that the model can read.
        """
        body = {"format": _format(provider), "loading": loading, "name": name, "arguments": arguments}
        try:
            response = self._open_api().post(["model-calls"], body)
        except PegboardError as error:
            return ToolUseResult.failure(str(error), error.code)
        outcome = response.get("outcome")
        return ToolUseResult(
            is_error=response["isError"],
            content=response["content"],
            code=None if outcome == "ok" else outcome,
            tool=response.get("tool"),
            server=response.get("server"),
        )

    def run_tools(
        self,
        client: Any,
        *,
        max_rounds: int = MAX_ROUNDS,
        loading: Loading = "meta",
        handlers: Handlers | None = None,
        **request: Any,
    ) -> Run:
        """Sends a request with a client of the Anthropic or OpenAI SDK, runs the model's calls, and continues until
        the model stops.

        `request` is what the SDK's `create` takes; Pegboard's tools are added to its `tools`. OpenAI requests with
        `input` use Responses, those with `messages` Chat Completions. `handlers` run the program's own tools.
        Exceptions of the SDK are not caught; failing calls are results for the model.
        """
        conversation = self._conversation(client, request, loading, max_rounds)
        create = conversation.create(client)
        with ThreadPoolExecutor(MAX_CONCURRENT, thread_name_prefix="pegboard") as pool:
            while True:
                calls = conversation.receive(create(**conversation.request()))
                if calls is None:
                    return conversation.finished()

                def run(call: Pending) -> ToolUseResult:
                    return self._run_pending(conversation, call, loading, handlers or {})

                conversation.answer(calls, list(pool.map(run, calls)))

    def _conversation(
        self, client: Any, request: Mapping[str, Any], loading: Loading, max_rounds: int
    ) -> Conversation:
        kind = provider_of(client, request)
        provider: Any = kind.provider
        return kind(request, self.definitions(provider, loading=loading), max_rounds)

    def _run_pending(
        self, conversation: Conversation, call: Pending, loading: Loading, handlers: Handlers
    ) -> ToolUseResult:
        handler = handlers.get(call.name)
        if handler is None:
            provider: Any = conversation.provider
            return self.run_tool_use(provider, call.name, call.arguments, loading=loading)
        try:
            return own_result(handler(own_arguments(call.arguments)))
        except Exception as error:  # the model reads what went wrong
            return ToolUseResult.failure(f"{type(error).__name__}: {error}", "TOOL_FAILED")

    def _discover(self) -> None:
        """Discovers unknown servers once, so that the first search of a new Pegboard finds something."""
        if not self._is_discovered:
            self._open_api().post(["discover"], timeout=None)
            self._is_discovered = True

    def _open_api(self) -> Api:
        if self._is_closed:
            raise PegboardError("NOT_RUNNING", "the client is closed", "Open a new one.")
        return self._api


def _format(provider: str) -> str:
    return "openai-responses" if provider == "openai" else provider
