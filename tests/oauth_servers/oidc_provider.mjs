// `oidc-provider` with a protected MCP server. A refresh token works once; the use of an old one revokes the grant.

import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { mcpAnswer, readBody } from './mcp_server.mjs';

const modules = `${process.env.PEGBOARD_TEST_ENV}/oidc_provider/node_modules`;
const { Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));

const lifetime = Number(process.argv[2] ?? 3600);
const SCOPES = 'notes notes:write';

const listen = (server) => new Promise((done) => {
  server.listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${server.address().port}`));
});

// Everything that the provider stores, so that tests can end parts of it.
const stored = new Map();
class Memory {
  constructor(kind) { this.kind = kind; }
  key(id) { return `${this.kind}:${id}`; }
  async upsert(id, payload, seconds) {
    stored.set(this.key(id), { ...payload, until: seconds ? Date.now() + seconds * 1000 : Infinity });
  }
  async find(id) {
    const found = stored.get(this.key(id));
    return found && found.until > Date.now() ? found : undefined;
  }
  async findByUid(uid) { return this.search('uid', uid); }
  async findByUserCode(code) { return this.search('userCode', code); }
  search(name, value) {
    return [...stored].find(([key, entry]) => key.startsWith(`${this.kind}:`) && entry[name] === value)?.[1];
  }
  async destroy(id) { stored.delete(this.key(id)); }
  async consume(id) { stored.get(this.key(id)).consumed = Math.floor(Date.now() / 1000); }
  async revokeByGrantId(grantId) {
    for (const [key, entry] of stored) if (entry.grantId === grantId) stored.delete(key);
  }
}
const forget = (kinds) => {
  for (const key of stored.keys()) if (kinds.includes(key.split(':')[0])) stored.delete(key);
};
const ACTIONS = {
  '/control/expire': ['AccessToken'],
  '/control/revoke': ['AccessToken', 'RefreshToken', 'Grant'],
  '/control/forget-clients': ['Client'],
};

const resourceServer = createServer();
const resourceOrigin = await listen(resourceServer);
const resource = `${resourceOrigin}/mcp`;
const authorizationServer = createServer();
const issuer = await listen(authorizationServer);

const provider = new Provider(issuer, {
  adapter: Memory,
  scopes: ['openid', 'offline_access', ...SCOPES.split(' ')],
  rotateRefreshToken: true,
  issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: async (_, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
  ttl: { AccessToken: lifetime, RefreshToken: 86400, Session: 86400, Grant: 86400, Interaction: 600, DeviceCode: 600 },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true, allowedPolicy: () => true },
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, wanted) => ({ scope: SCOPES, audience: wanted, accessTokenTTL: lifetime, accessTokenFormat: 'opaque' }),
    },
  },
});

// The person logs in and approves everything at once.
async function interact(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'person' } });
  }
  const grant = (grantId && await provider.Grant.find(grantId))
    || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(`openid offline_access ${SCOPES}`);
  grant.addResourceScope(resource, SCOPES);
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

const callback = provider.callback();
authorizationServer.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) return callback(request, response);
  interact(request, response).catch((error) => response.writeHead(500).end(String(error)));
});

resourceServer.on('request', async (request, response) => {
  const { pathname } = new URL(request.url, resourceOrigin);
  if (pathname in ACTIONS) {
    forget(ACTIONS[pathname]);
    return response.writeHead(204).end();
  }
  if (pathname === '/.well-known/oauth-protected-resource/mcp') {
    const metadata = { resource, authorization_servers: [issuer], scopes_supported: ['notes'] };
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
  }
  if (pathname !== '/mcp') return response.writeHead(404).end();
  const body = await readBody(request);
  const bearer = request.headers.authorization?.replace(/^Bearer /, '');
  const token = bearer && await provider.AccessToken.find(bearer);
  const where = `resource_metadata="${resourceOrigin}/.well-known/oauth-protected-resource/mcp"`;
  if (!token || token.aud !== resource) {
    const error = bearer ? ', error="invalid_token"' : '';
    return response.writeHead(401, { 'www-authenticate': `Bearer ${where}${error}` }).end();
  }
  const needed = body.includes('"write_note"') && !token.scope?.split(' ').includes('notes:write');
  if (needed) {
    const challenge = `Bearer error="insufficient_scope", scope="notes:write", ${where}`;
    return response.writeHead(403, { 'www-authenticate': challenge }).end();
  }
  return mcpAnswer(request, response, body);
});

process.stdin.on('end', () => process.exit(0)).resume();
console.log(JSON.stringify({ mcp: resource, issuer, control: `${resourceOrigin}/control` }));
