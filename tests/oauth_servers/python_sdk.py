"""The Python SDK's authorization server with a protected MCP server."""

import secrets
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import Response

from loopback import free_socket, lifetime, serve

SCOPES = ["notes", "notes:write"]


class Provider:
    """Keeps everything in memory and approves at once. A refresh token works once."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            client_id=client.client_id,
            scopes=params.scopes or SCOPES[:1],
            expires_at=time.time() + 300,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        if self.codes.pop(authorization_code.code, None) is None:
            raise TokenError("invalid_grant", "the code was used before")
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "the refresh token was used before")
        return self.issue(client, scopes or refresh_token.scopes, refresh_token.resource)

    async def load_access_token(self, token):
        known = self.access.get(token)
        return known if known and known.expires_at > time.time() else None

    async def revoke_token(self, token):
        kept = lambda other: other.client_id != token.client_id
        self.access = {name: other for name, other in self.access.items() if kept(other)}
        self.refresh = {name: other for name, other in self.refresh.items() if kept(other)}

    def issue(self, client, scopes, resource):
        shared = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        access = AccessToken(
            token=secrets.token_urlsafe(32), expires_at=int(time.time()) + self.seconds, **shared
        )
        refresh = RefreshToken(token=secrets.token_urlsafe(32), **shared)
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            expires_in=self.seconds,
            refresh_token=refresh.token,
            scope=" ".join(scopes),
        )


listener, origin = free_socket()
provider = Provider(lifetime())
server = MCPServer(
    "protected",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=origin,
        resource_server_url=f"{origin}/mcp",
        required_scopes=SCOPES[:1],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES[:1]
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
def read_note(text: str) -> str:
    """Reads a note."""
    return f"read_note: {text}"


@server.custom_route("/control/{action}", methods=["POST"])
async def control(request):
    match request.path_params["action"]:
        case "expire":
            provider.access.clear()
        case "revoke":
            provider.access.clear(), provider.refresh.clear()
        case "forget-clients":
            provider.clients.clear()
    return Response(status_code=204)


serve(server.streamable_http_app(), listener, origin)
