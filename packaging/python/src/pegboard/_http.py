"""Requests to the HTTP API. Each request has its own connection, so all methods can be used from several threads."""

from __future__ import annotations

import http.client
import json
import uuid
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ._errors import PegboardError, of_body

READ_TIMEOUT = 60.0
"""Seconds until a read fails. Discovery of slow servers continues in the background after a few seconds."""
MAX_RESPONSE_BYTES = 128 * 1024 * 1024
"""The size of the largest response. A result can contain files, but must not fill the memory."""


class Api:
    """The API of one running Pegboard."""

    def __init__(self, url: str, token: str | None) -> None:
        try:
            parts = urlsplit(url)
            host, self._port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https"):
            message = f"`{url}` is not the URL of a Pegboard"
            raise PegboardError("REQUEST_INVALID", message, "It begins with http:// or https://.")
        self._host = host
        self._is_secure = parts.scheme == "https"
        path = parts.path.rstrip("/")
        self._base = path.removesuffix("/mcp").rstrip("/") + "/api/v1"
        self.url = url
        # A random name lets a person allow a tool for all calls of this client.
        self._headers = {"Accept": "application/json", "Pegboard-Session": str(uuid.uuid4())}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {_checked(token.strip())}"

    def get(self, path: list[str], query: dict[str, Any] | None = None) -> Any:
        """Reads a resource."""
        return self._request("GET", path, query, None, READ_TIMEOUT)

    def post(self, path: list[str], body: Any = None, timeout: float | None = None) -> Any:
        """Sends a request that runs something."""
        return self._request("POST", path, None, body, timeout)

    def _request(
        self, method: str, path: list[str], query: dict[str, Any] | None, body: Any, timeout: float | None
    ) -> Any:
        target = "/".join([self._base, *(quote(part, safe="") for part in path)])
        if query:
            target += "?" + urlencode(query)
        headers = dict(self._headers)
        data: bytes | None = None
        if body is not None:
            data = _encoded(body)
            headers["Content-Type"] = "application/json"
        kind = http.client.HTTPSConnection if self._is_secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=timeout)
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            text = response.read(MAX_RESPONSE_BYTES + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            message = f"cannot reach Pegboard at {self.url}: {error or type(error).__name__}"
            remedy = "Check that it is still running, or open a new client."
            raise PegboardError("NOT_RUNNING", message, remedy, retryable=True) from error
        finally:
            connection.close()
        if len(text) > MAX_RESPONSE_BYTES:
            message = f"the response has more than {MAX_RESPONSE_BYTES} bytes"
            raise PegboardError("HTTP_BODY_TOO_LARGE", message, "Request a part of the result.")
        try:
            document = json.loads(text)
        except ValueError:
            document = None
        if response.status != 200 or document is None:
            raise of_body(document, response.status)
        return document


def _checked(token: str) -> str:
    # An invalid header would be part of the message of an exception.
    if not token or not all("!" <= character <= "~" for character in token):
        message = "the token has characters that no token has"
        raise PegboardError("TOKEN_WRONG", message, "`pegboard token` prints the token.")
    return token


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the arguments are not JSON: {error}"
        raise PegboardError("ARGS_INVALID", message, "Pass a dictionary of JSON values.") from error
