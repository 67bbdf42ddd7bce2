"""FastMCP's authorization server with a protected MCP server."""

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers import in_memory
from starlette.responses import Response

from loopback import free_socket, lifetime, serve

SCOPES = ["notes", "notes:write"]
in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = lifetime()

listener, origin = free_socket()
provider = in_memory.InMemoryOAuthProvider(
    base_url=origin,
    required_scopes=SCOPES[:1],
    client_registration_options=ClientRegistrationOptions(
        enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES[:1]
    ),
    revocation_options=RevocationOptions(enabled=True),
)
server = FastMCP("protected", auth=provider)


@server.tool
def read_note(text: str) -> str:
    """Reads a note."""
    return f"read_note: {text}"


@server.custom_route("/control/{action}", methods=["POST"])
async def control(request):
    match request.path_params["action"]:
        case "expire":
            provider.access_tokens.clear()
        case "revoke":
            provider.access_tokens.clear(), provider.refresh_tokens.clear()
        case "forget-clients":
            provider.clients.clear()
    return Response(status_code=204)


serve(server.http_app(path="/mcp"), listener, origin)
