"""Finds a running Pegboard, or starts one that ends with this process.

`pegboard serve --reuse` prints the address of a running Pegboard with the same configuration; otherwise it serves at a
free port. With `--exit-on-eof` it stops when its standard input closes, which the system does when this process ends,
even if it is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from ._errors import PegboardError, of_body

PROGRAM_VARIABLE = "PEGBOARD_PROGRAM"
STOP_TIMEOUT = 10.0
"""Seconds for a started Pegboard to end its servers; then it is killed."""
KEPT_LINES = 40
"""Lines of the program's messages that are kept for an error."""


@dataclass
class Started:
    """The address of a Pegboard, and its process if it was started here."""

    url: str
    token: str | None
    process: subprocess.Popen[str] | None


def find_program(program: str | os.PathLike[str] | None) -> str:
    """Returns the program: the given one, the variable's, the one of this package, or the one in PATH."""
    given = program or os.environ.get(PROGRAM_VARIABLE)
    if given:
        return os.fspath(given)
    packaged = os.path.join(sysconfig.get_path("scripts"), "pegboard")
    if os.access(packaged, os.X_OK):
        return packaged
    found = shutil.which("pegboard")
    if found is None:
        message = "the program `pegboard` is not installed"
        raise PegboardError("SPAWN_NOT_FOUND", message, f"Install it, or set `program` or {PROGRAM_VARIABLE}.")
    return found


def start(
    program: str | os.PathLike[str] | None,
    project: str | os.PathLike[str] | None,
    config_dir: str | os.PathLike[str] | None,
    state_dir: str | os.PathLike[str] | None,
    timeout: float,
) -> Started:
    """Returns a running Pegboard with this configuration, or starts one."""
    path = find_program(program)
    command = [path, "serve", "--json", "--quiet", "--port", "0", "--reuse", "--exit-on-eof"]
    if project is not None:
        command += ["--project", os.fspath(project)]
    environment = dict(os.environ)
    if config_dir is not None:
        environment["PEGBOARD_CONFIG_DIR"] = os.path.abspath(config_dir)
    if state_dir is not None:
        environment["PEGBOARD_STATE_DIR"] = os.path.abspath(state_dir)
    try:
        # Its own session: Ctrl-C reaches this process, which then closes it.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        code = "SPAWN_NOT_FOUND" if isinstance(error, FileNotFoundError) else "SPAWN_FAILED"
        message = f"cannot start `{path}`: {error.strerror or error}"
        raise PegboardError(code, message, f"Install Pegboard, or set `program` or {PROGRAM_VARIABLE}.") from error
    return _announced(process, path, timeout)


def _announced(process: subprocess.Popen[str], path: str, timeout: float) -> Started:
    """Waits for the address that the program prints."""
    messages: deque[str] = deque(maxlen=KEPT_LINES)
    reader = threading.Thread(target=_drain, args=(process.stderr, messages), daemon=True)
    reader.start()
    documents: deque[Any] = deque(maxlen=1)
    printed = threading.Thread(target=_first_document, args=(process.stdout, documents), daemon=True)
    printed.start()
    try:
        printed.join(timeout)
    except BaseException:
        stop(process)
        raise
    if not documents:
        is_late = printed.is_alive()
        stop(process)
        reader.join(1.0)
        raise _not_started(path, messages, timeout if is_late else None)
    address = documents[0]
    is_reused = address.get("reused") is True
    if is_reused:
        stop(process)
    try:
        token = _token(address)
    except BaseException:
        stop(process)
        raise
    return Started(str(address["dashboard"]).rstrip("/"), token, None if is_reused else process)


def _first_document(stream: Any, documents: deque[Any]) -> None:
    """Reads the document with the address, then discards what follows, so that the pipe never fills."""
    text = ""
    for line in stream:
        if documents:
            continue
        text += line
        try:
            document = json.loads(text)
        except ValueError:
            continue
        if isinstance(document, dict) and "dashboard" in document:
            documents.append(document)
            _in_background(stream)
            return


def _in_background(stream: Any) -> None:
    threading.Thread(target=_drain, args=(stream, deque(maxlen=1)), daemon=True).start()


def _drain(stream: Any, messages: deque[str]) -> None:
    try:
        for line in stream:
            messages.append(line)
    except ValueError:
        pass  # closed by `stop`


def _token(address: dict[str, Any]) -> str | None:
    if address.get("token") is not None:
        return str(address["token"])
    file = address.get("token_file")
    if file is None:
        return None
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError as error:
        message = f"cannot read the token in {file}: {error.strerror or error}"
        raise PegboardError("STORE_IO", message, "Check the permissions of the state directory.") from error


def _not_started(path: str, messages: deque[str], timeout: float | None) -> PegboardError:
    for line in messages:
        try:
            document = json.loads(line)
        except ValueError:
            continue
        if isinstance(document, dict) and "error" in document:
            return of_body(document, None)
    why = "it ended" if timeout is None else f"it printed no address within {timeout:g} seconds"
    shown = "".join(messages).strip()
    message = f"cannot start `{path}`: {why}{': ' + shown if shown else ''}"
    return PegboardError("SPAWN_FAILED", message, "Check that `program` is a Pegboard of the same version.")


def stop(process: subprocess.Popen[str]) -> None:
    """Ends a started Pegboard with all its servers."""
    if process.stdin is not None:
        try:
            process.stdin.close()
        except OSError:
            pass
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
