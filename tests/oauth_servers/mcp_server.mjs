// A small MCP server of the handshake era, for servers that only protect it.

const tool = (name, readOnlyHint) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  annotations: { readOnlyHint },
});

const RESULTS = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'protected', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool('read_note', true), tool('write_note', false)] }),
  'tools/call': ({ name, arguments: given }) => ({ content: [{ type: 'text', text: `${name}: ${given?.text ?? ''}` }] }),
};

export async function readBody(request) {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}

export function mcpAnswer(request, response, body) {
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  const result = RESULTS[method]?.(params ?? {});
  const rest = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...rest }));
}
