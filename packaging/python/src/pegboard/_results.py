"""What the methods return."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Union


class _Summary(TypedDict):
    name: str
    description: str
    summary: str
    type: Literal["native", "mcp"]
    tool: str
    category: str
    policy: Literal["allow", "ask", "deny", "disable"]
    asksIfPossible: bool
    enabled: bool
    discoveryStatus: Literal["never", "discovering", "success", "failed"]
    stale: bool
    tokens: int


class ToolSummary(_Summary, total=False):
    """A tool in a list, as the API returns it. `name` is the name to call it by, usually `server__tool`; `tool` is the
    server's own."""

    server: str
    lastDiscovered: int
    deprecated: str
    note: str


class _Details(ToolSummary):
    signature: str
    parameters: list[dict[str, Any]]
    examples: list[dict[str, Any]]
    related: list[str]
    annotations: dict[str, Any] | None
    definition: dict[str, Any]
    formats: list[str]


class ToolDetails(_Details, total=False):
    """All details of a tool. `definition` is the server's own, verbatim."""

    title: str


class Hit(TypedDict):
    """A search result. Scores are comparable only within one response."""

    score: float
    tool: ToolSummary


class TextContent(TypedDict):
    """A text for a model."""

    type: Literal["text"]
    text: str


class ImageContent(TypedDict):
    """An image for a model, in base64."""

    type: Literal["image"]
    mimeType: str
    data: str


Content = Union[TextContent, ImageContent]
"""A part of a result for a model."""


@dataclass(frozen=True)
class CallResult:
    """The response of a tool."""

    is_error: bool
    """Whether the tool reported a failure."""
    outcome: Literal["complete", "task", "input_required"]
    """`complete`, unless the tool continues as a task or requests input."""
    result: dict[str, Any]
    """The server's result, unchanged."""

    @property
    def code(self) -> str | None:
        """`TOOL_FAILED` if the tool reported a failure."""
        return "TOOL_FAILED" if self.is_error else None

    @property
    def structured(self) -> Any:
        """The result's `structuredContent`, or `None`."""
        return self.result.get("structuredContent")

    @property
    def text(self) -> str:
        """The texts of the result, or its structured content as JSON."""
        blocks = self.result.get("content") or []
        texts = [block["text"] for block in blocks if isinstance(block, dict) and "text" in block]
        if not texts and self.structured is not None:
            return json.dumps(self.structured, ensure_ascii=False)
        return "\n".join(texts)


@dataclass(frozen=True)
class ToolUseResult:
    """The result of a model's call. An error is a text that the model can read."""

    is_error: bool
    content: list[Content]
    code: str | None = None
    """The error code; `None` without an error, and for failed searches and other lookups."""
    tool: str | None = None
    """The tool that was called; `None` for searches and other lookups."""
    server: str | None = None
    """Its server."""

    @property
    def text(self) -> str:
        """The texts of the result."""
        return "\n".join(part["text"] for part in self.content if part["type"] == "text")

    @staticmethod
    def failure(text: str, code: str | None = None) -> ToolUseResult:
        """Returns the result of a call that was not run."""
        return ToolUseResult(is_error=True, content=[{"type": "text", "text": text}], code=code)
