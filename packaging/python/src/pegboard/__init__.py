"""Every tool of every MCP server for a Python program: a client of Pegboard.

    with Pegboard.open() as pegboard:
        tools = pegboard.definitions("anthropic")
        system = pegboard.context_summary()
        result = pegboard.run_tool_use("anthropic", name, arguments)
"""

from ._errors import PegboardError
from ._results import CallResult, Content, Hit, ImageContent, TextContent, ToolDetails, ToolSummary, ToolUseResult
from ._run import Call, Run
from .async_client import AsyncPegboard
from .client import Loading, Pegboard, Provider

__all__ = [
    "AsyncPegboard",
    "Call",
    "CallResult",
    "Content",
    "Hit",
    "ImageContent",
    "Loading",
    "Pegboard",
    "PegboardError",
    "Provider",
    "Run",
    "TextContent",
    "ToolDetails",
    "ToolSummary",
    "ToolUseResult",
]
