"""What both Python servers share: a free port, the line of JSON, the end with the parent."""

import asyncio
import json
import os
import socket
import sys
import threading

import uvicorn


def free_socket() -> tuple[socket.socket, str]:
    """A listening socket on a free port, and its origin."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def lifetime() -> int:
    """The lifetime of access tokens in seconds."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else 3600


def serve(app, listener: socket.socket, origin: str) -> None:
    """Serves until standard input ends."""

    def end_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    listener.listen(128)
    where = {"mcp": f"{origin}/mcp", "issuer": origin, "control": f"{origin}/control"}
    print(json.dumps(where), flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    asyncio.run(server.serve(sockets=[listener]))
