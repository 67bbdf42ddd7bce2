"""A folder with an empty home in which an installed Pegboard runs, and what is checked of every installation."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

# For a start or an end on a busy machine; in most cases both take less than a second.
DEADLINE_SECONDS = 60


class CleanHome:
    """A temporary folder with an empty home. Its environment contains nothing else of this process."""

    def __init__(self, name):
        self.folder = Path(tempfile.mkdtemp(prefix=f"pegboard-{name}-")).resolve()
        self.home = self.folder / "home"
        self.home.mkdir()
        # The background process ends soon after its last client, so that a test sees its end.
        idle = {"PEGBOARD_BACKGROUND_IDLE": "1"}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"} | idle

    def run(self, command, check=True, **options):
        """Runs a command to its end. Raises an `AssertionError` with its output if it fails."""
        done = subprocess.run(
            [str(part) for part in command], env=self.env | options.pop("env", {}), cwd=options.pop("cwd", self.folder),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5 * DEADLINE_SECONDS, **options,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def processes(self):
        """All processes that run a program of this folder or have this home, as `pid: command line`."""
        return {pid: command_line(pid) for pid in pids() if self.owns(pid)}

    def owns(self, pid):
        """Whether a process runs a program of this folder or has this home."""
        try:
            program = os.readlink(f"/proc/{pid}/exe")
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        return program.startswith(f"{self.folder}/") or str(self.folder).encode() in environment

    def remove(self):
        """Ends what a failed test left behind, and removes the folder."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder)


def pids():
    """The ids of all processes."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def command_line(pid):
    """The command line of a process, or an empty text if it ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def wait_for(condition, what):
    """Waits until the condition returns a true value, and returns it."""
    end = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {DEADLINE_SECONDS} seconds for {what}")


def check_commands(home, pegboard, program, version):
    """Checks `--version`, `add`, `tools` and `call`. `pegboard` is the command as a user types it; `program` is the
    path of the installed program, which runs the example server."""
    printed = home.run([*pegboard, "--version"]).stdout
    assert re.match(rf"pegboard {re.escape(version)}\b", printed), printed
    added = home.run([*pegboard, "add", "example", "--", program, "example-server"]).stdout
    assert "add_numbers" in added, added
    listed = home.run([*pegboard, "tools"]).stdout
    assert "example__add_numbers" in listed, listed
    called = home.run([*pegboard, "call", "example/add_numbers", "a=1", "b=2"]).stdout
    assert json.loads(called) == {"sum": 3}, called
    missing = home.run([*pegboard, "call", "example/no_such_tool"], check=False)
    assert missing.returncode == 7, missing
    assert not home.processes(), home.processes()


def check_stdio(home, pegboard):
    """Checks that a client that starts Pegboard gets a response, and that closing the input ends it."""
    information = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": information}
    done = subprocess.run(
        [*(str(part) for part in pegboard), "stdio"], env=home.env, cwd=home.folder,
        input=json.dumps(message) + "\n", capture_output=True, text=True, timeout=DEADLINE_SECONDS,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "pegboard", done
    assert done.returncode == 0, done
    wait_for(lambda: not home.processes(), "the end of all processes")


def check_up(home, command, pegboard, stopped=None):
    """Checks that `command` (`up` or `serve` with `--json`) serves clients that know the token, and that the signal
    TERM stops it and leaves no process. `stopped` returns the process that gets the signal, if it is not the
    started one."""
    started = subprocess.Popen(
        [str(part) for part in command], env=home.env, cwd=home.folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        url = start_message(started)["url"].replace("0.0.0.0", "127.0.0.1")
        check_client(url, home.run([*pegboard, "token"]).stdout.strip())
        os.kill(stopped() if stopped else started.pid, signal.SIGTERM)
        started.wait(timeout=DEADLINE_SECONDS)
        wait_for(lambda: not home.processes(), f"the end of {home.processes()}")
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
    return started.returncode


def start_message(started):
    """The JSON document that `up` prints once it serves clients."""
    printed = ""
    # A program that prints nothing is ended, which ends the loop too.
    watchdog = threading.Timer(DEADLINE_SECONDS, started.kill)
    watchdog.start()
    try:
        for line in started.stdout:
            printed += line
            if line == "}\n":
                return json.loads(printed)
    finally:
        watchdog.cancel()
    raise AssertionError(f"{started.args} printed {printed!r} and ended")


def check_client(url, token):
    """Checks the health route, that a client without the token is refused, and that one with it calls a tool."""
    with urllib.request.urlopen(re.sub(r"/mcp$", "/healthz", url), timeout=DEADLINE_SECONDS) as answer:
        assert answer.status == 200
    try:
        call_add_numbers(url, "wrong")
        raise AssertionError("a client with a wrong token was accepted")
    except urllib.error.HTTPError as refused:
        assert refused.code == 401, refused.code
        refused.close()
    assert '"sum":3' in call_add_numbers(url, token)


def call_add_numbers(url, token):
    """Calls the example server's tool in the stateless protocol revision and returns the response."""
    revision = "2026-07-28"
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": "example__add_numbers", "arguments": {"a": 1, "b": 2},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": revision,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    headers = {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": revision,
        "Mcp-Method": "tools/call", "Mcp-Name": "example__add_numbers",
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
        return answer.read().decode()
