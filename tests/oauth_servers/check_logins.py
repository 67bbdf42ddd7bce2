"""Logs in to each real authorization server, calls a tool, refreshes, and uses an old refresh token again."""

import base64
import hashlib
import http.cookiejar
import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENV = Path(os.environ.get("PEGBOARD_TEST_ENV", HERE.parent.parent / ".test-env"))
PARTNERS = {
    "oidc_provider.mjs": ENV / "conformance/node_modules/.bin/node",
    "python_sdk.py": ENV / "python/bin/python",
    "fastmcp_server.py": ENV / "fastmcp/bin/python",
}
REDIRECT = "http://127.0.0.1:9/callback"


class KeepRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects up to the client's callback, at which nothing listens."""

    def redirect_request(self, request, body, code, message, headers, url):
        if url.startswith(REDIRECT):
            raise StopIteration(url)
        return super().redirect_request(request, body, code, message, headers, url)


def send(url, body=None, headers=None):
    request = urllib.request.Request(url, data=body, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def send_json(url, value, headers=None):
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return send(url, json.dumps(value).encode(), {**kinds, **(headers or {})})


def call(mcp, token):
    """Calls the tool in a new session and returns the status and the text."""
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    status, body, headers = send_json(
        mcp, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, bearer
    )
    if status != 200:
        return status, headers.get("WWW-Authenticate", "")
    session = headers.get("mcp-session-id")
    bearer |= {"mcp-session-id": session} if session else {}
    bearer |= {"mcp-protocol-version": "2025-11-25"}
    send_json(mcp, {"jsonrpc": "2.0", "method": "notifications/initialized"}, bearer)
    arguments = {"name": "read_note", "arguments": {"text": "hi"}}
    status, body, _ = send_json(
        mcp, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments}, bearer
    )
    return status, body


def login(where):
    status, challenge = call(where["mcp"], None)
    assert status == 401 and "resource_metadata" in challenge, (status, challenge)
    origin = where["mcp"].removesuffix("/mcp")
    resource = json.loads(send(f"{origin}/.well-known/oauth-protected-resource/mcp")[1])
    issuer = resource["authorization_servers"][0].rstrip("/")
    server = json.loads(send(f"{issuer}/.well-known/oauth-authorization-server")[1])
    status, body, _ = send_json(server["registration_endpoint"], {
        "client_name": "check", "redirect_uris": [REDIRECT], "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none", "scope": "notes",
    })
    assert status == 201, (status, body)
    client = json.loads(body)["client_id"]
    verifier = base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()
    digest = hashlib.sha256(verifier.encode()).digest()
    query = urllib.parse.urlencode({
        "response_type": "code", "client_id": client, "redirect_uri": REDIRECT, "state": "s1",
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256", "scope": "notes", "resource": resource["resource"],
    })
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies, KeepRedirects)
    try:
        page = browser.open(f"{server['authorization_endpoint']}?{query}", timeout=20)
        raise AssertionError(f"no callback, but {page.url}: {page.read()[:300]}")
    except StopIteration as callback:
        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(str(callback)).query))
    assert answer.get("state") == "s1" and "code" in answer, answer

    def token(**fields):
        form = urllib.parse.urlencode({"client_id": client, "resource": resource["resource"], **fields})
        status, body, _ = send(server["token_endpoint"], form.encode())
        return status, json.loads(body)

    status, tokens = token(
        grant_type="authorization_code", code=answer["code"], redirect_uri=REDIRECT, code_verifier=verifier
    )
    assert status == 200, (status, tokens)
    return token, tokens


def check(program, interpreter):
    environment = {**os.environ, "PEGBOARD_TEST_ENV": str(ENV)}
    started = subprocess.Popen(
        [interpreter, HERE / program, "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    try:
        where = json.loads(started.stdout.readline())
        token, tokens = login(where)
        status, text = call(where["mcp"], tokens["access_token"])
        assert status == 200 and "read_note: hi" in text, (status, text)
        send(f"{where['control']}/expire", b"")
        assert call(where["mcp"], tokens["access_token"])[0] == 401
        status, renewed = token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        assert status == 200, (status, renewed)
        assert call(where["mcp"], renewed["access_token"])[0] == 200
        assert renewed["refresh_token"] != tokens["refresh_token"], "it rotates"
        status, error = token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        assert status in (400, 401) and error["error"] == "invalid_grant", (status, error)
        survives = call(where["mcp"], renewed["access_token"])[0] == 200
        token, tokens = login(where)
        send(f"{where['control']}/forget-clients", b"")
        status, error = token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        assert status in (400, 401), (status, error)
        print(f"ok  {program}: reuse of a refresh token "
              f"{'is refused' if survives else 'ends the login'}; a forgotten client gets {status} {error['error']}")
    finally:
        started.stdin.close()
        started.wait(timeout=10)


for name in sys.argv[1:] or PARTNERS:
    check(name, PARTNERS[name])
