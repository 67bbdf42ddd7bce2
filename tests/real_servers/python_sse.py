"""A server of the Python SDK over the old HTTP+SSE transport. Prints its URL, and ends with its standard input."""

import asyncio
import os
import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("old")


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"sum {a + b}"


def end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
threading.Thread(target=end_with_parent, daemon=True).start()
print(f"http://127.0.0.1:{listener.getsockname()[1]}/sse", flush=True)
app = uvicorn.Server(uvicorn.Config(server.sse_app(), log_level="error"))
asyncio.run(app.serve(sockets=[listener]))
