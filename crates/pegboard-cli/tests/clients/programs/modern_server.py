"""A modern server over stdio, with one tool for each feature that a gateway forwards.

`legacy_server.mjs` has the same tools for the legacy era.
"""

import os
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("modern-fixture")


class Name(BaseModel):
    name: str


def ask_for_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_model() -> Sample:
    content = TextContent(type="text", text="What is the capital of France?")
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=50)


def ask_for_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@server.tool()
async def steps(count: int, notes: str, ctx: Context) -> str:
    """Report a number of steps; each one begins when the client recorded the previous one in `notes`."""
    for step in range(1, count + 1):
        await ctx.report_progress(step, count, f"step {step}")
        while f"received {step}" not in noted(notes):
            await anyio.sleep(0.02)
    return f"{count} steps done"


@server.tool()
async def wait(notes: str) -> str:
    """Wait until the call is cancelled; the state is written to the file `notes`."""
    note(notes, "waiting")
    try:
        await anyio.sleep_forever()
    except BaseException:
        note(notes, "cancelled")
        raise
    return "never"


@server.tool()
async def die() -> str:
    """End the process in the middle of the call."""
    os._exit(3)


@server.tool()
async def greet(name: Annotated[Name, Resolve(ask_for_name)]) -> str:
    """Greet the user of the client."""
    return f"Hello {name.name}"


@server.tool()
async def interview(name: Annotated[Name, Resolve(ask_for_name)], notes: str, ctx: Context) -> str:
    """Ask for a name, and then report a step that the client notes in `notes`."""
    return f"{await steps(1, notes, ctx)} by {name.name}"


@server.tool()
async def think(answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Let the client's model answer a question."""
    return f"The model says {answer.content.text}"


@server.tool()
async def folders(roots: Annotated[ListRootsResult, Resolve(ask_for_roots)]) -> str:
    """List the roots of the client."""
    return " ".join(str(root.uri) for root in roots.roots)


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool and notify the clients."""

    async def grown() -> str:
        """Was added later."""
        return "grown"

    server.add_tool(grown)
    await ctx.notify_tools_changed()
    return "one more"


@server.prompt()
def greeting(name: str) -> str:
    """A greeting to begin with."""
    return f"Say hello to {name}"


@server.resource("note://one")
def one() -> str:
    """The first note."""
    return "the first note"


@server.resource("note://numbered/{number}")
def numbered(number: str) -> str:
    """Any other note."""
    return f"note number {number}"


def noted(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as notes:
            return notes.read()
    except FileNotFoundError:
        return ""


def note(file: str, what: str) -> None:
    with open(file, "a", encoding="utf-8") as notes:
        notes.write(what + "\n")


if __name__ == "__main__":
    server.run("stdio")
