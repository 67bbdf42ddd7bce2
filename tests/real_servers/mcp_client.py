"""A small MCP client over stdio that keeps the bytes of what it receives."""

import json
import queue
import subprocess
import threading
import time

LEGACY, MODERN = "2025-11-25", "2026-07-28"
INFO = {"name": "real-servers", "version": "1"}


class Client:
    """A server process. `era` is the revision to speak, or `None` for the newest that the server knows."""

    def __init__(self, command, env, cwd, era=None, limit=120):
        self.command, self.env, self.cwd, self.limit = command, env, cwd, limit
        self.start()
        if era is None:
            era = MODERN if self.speaks_modern() else LEGACY
        self.era = era
        if era == LEGACY:
            params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": INFO}
            self.request("initialize", params)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def start(self):
        self.count = 0
        self.process = subprocess.Popen(
            self.command, env=self.env, cwd=self.cwd,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def read(stdout, lines):
        for line in stdout:
            lines.put(line)
        lines.put(None)

    def speaks_modern(self):
        """Asks with the first request of the newest revision; a server that does not answer is started again."""
        self.era = MODERN
        try:
            self.request("server/discover", {})
            return True
        except (RuntimeError, TimeoutError):
            self.close()
            self.start()
            return False

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        """The bytes of the result."""
        self.count += 1
        number = self.count
        if method != "initialize" and self.era == MODERN:
            params = {**params, "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": INFO,
                "io.modelcontextprotocol/clientCapabilities": {},
            }}
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        end = time.monotonic() + (10 if method == "server/discover" else self.limit)
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no response to {method}") from None
            if line is None:
                raise RuntimeError(f"the server ended during {method}")
            members = members_of(line)
            if members.get("id") != str(number).encode() or "method" in members:
                continue
            if "error" in members:
                raise RuntimeError(members["error"].decode())
            return members["result"]

    def tools(self):
        """The names of all tools."""
        names, cursor = [], None
        while True:
            page = json.loads(self.request("tools/list", {"cursor": cursor} if cursor else {}))
            names += [tool["name"] for tool in page["tools"]]
            cursor = page.get("nextCursor")
            if not cursor:
                return names

    def call(self, tool, arguments):
        """The bytes of a call's result, or of the error's message."""
        try:
            return self.request("tools/call", {"name": tool, "arguments": arguments})
        except RuntimeError as error:
            return f"error: {error}".encode()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def members_of(line):
    """The members of a JSON object, each as the bytes that were received; nothing for a line that is not one."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return {}
    decoder, members, at = json.JSONDecoder(), {}, text.find("{") + 1
    try:
        while at > 0:
            at = after_space(text, at)
            if text[at] == "}":
                break
            key, at = decoder.raw_decode(text, at)
            start = after_space(text, after_space(text, at) + 1)
            _, at = decoder.raw_decode(text, start)
            members[key] = text[start:at].encode()
            at = after_space(text, at)
            at += text[at] == ","
    except (ValueError, IndexError):
        return {}
    return members


def after_space(text, at):
    while text[at] in " \t\r\n":
        at += 1
    return at
