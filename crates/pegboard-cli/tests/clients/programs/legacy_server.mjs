// A legacy server over stdio, with one tool for each feature that a gateway
// forwards. `modern_server.py` has the same tools for the modern era. The SDK's folder comes from
// the environment, because this file is not next to `node_modules`.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.NODE_MODULES_OF + '/package.json');
const sdk = path => import(pathToFileURL(require.resolve('@modelcontextprotocol/sdk/' + path)));
const { McpServer, ResourceTemplate } = await sdk('server/mcp.js');
const { StdioServerTransport } = await sdk('server/stdio.js');
const { CreateMessageResultSchema, ElicitResultSchema, ListRootsResultSchema } = await sdk('types.js');
const { z } = await import(pathToFileURL(require.resolve('zod')));

const server = new McpServer({ name: 'legacy-fixture', version: '1.0.0' });
const text = value => ({ content: [{ type: 'text', text: value }] });
const tool = (name, description, inputSchema, run) =>
  server.registerTool(name, { description, inputSchema }, run);

tool('add', 'Add two whole numbers.', { a: z.number(), b: z.number() }, async ({ a, b }) => ({
  ...text(String(a + b)),
  structuredContent: { result: a + b },
}));

/** Reports steps. Each step begins when the client has recorded the notification of the previous one. */
async function reportSteps(count, notes, { _meta, sendNotification }) {
  for (let step = 1; step <= count; step++) {
    const params = { progressToken: _meta?.progressToken, progress: step, total: count, message: `step ${step}` };
    await sendNotification({ method: 'notifications/progress', params });
    while (!existsSync(notes) || !readFileSync(notes, 'utf8').includes(`received ${step}`)) {
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }
  return `${count} steps done`;
}

async function askForName({ sendRequest }) {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const params = { message: 'What is your name?', requestedSchema };
  const answer = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
  return answer.content?.name;
}

const STEPS = 'Report a number of steps; each one begins when the client recorded the previous one in `notes`.';
tool('steps', STEPS, { count: z.number(), notes: z.string() },
  async ({ count, notes }, extra) => text(await reportSteps(count, notes, extra)));

tool('interview', 'Ask for a name, and then report a step that the client notes in `notes`.', { notes: z.string() },
  async ({ notes }, extra) => {
    const name = await askForName(extra);
    return text(`${await reportSteps(1, notes, extra)} by ${name}`);
  });

tool('wait', 'Wait until the call is cancelled; the state is written to the file `notes`.', { notes: z.string() },
  async ({ notes }, { signal }) => {
    const cancelled = new Promise(resolve => signal.addEventListener('abort', resolve));
    appendFileSync(notes, 'waiting\n');
    await cancelled;
    appendFileSync(notes, 'cancelled\n');
    return text('never');
  });

tool('die', 'End the process in the middle of the call.', {}, async () => process.exit(3));

tool('greet', 'Greet the user of the client.', {},
  async (_, extra) => text(`Hello ${await askForName(extra)}`));

tool('think', "Let the client's model answer a question.", {}, async (_, { sendRequest }) => {
  const content = { type: 'text', text: 'What is the capital of France?' };
  const params = { messages: [{ role: 'user', content }], maxTokens: 50 };
  const answer = await sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
  return text(`The model says ${answer.content.text}`);
});

tool('folders', 'List the roots of the client.', {}, async (_, { sendRequest }) => {
  const answer = await sendRequest({ method: 'roots/list' }, ListRootsResultSchema);
  return text(answer.roots.map(root => root.uri).join(' '));
});

tool('grow', 'Add a tool and notify the clients.', {}, async () => {
  tool('grown', 'Was added later.', {}, async () => text('grown'));
  return text('one more');
});

server.registerPrompt('greeting', { description: 'A greeting to begin with.', argsSchema: { name: z.string() } },
  ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}` } }] }));

server.registerResource('one', 'note://one', { description: 'The first note.' },
  async uri => ({ contents: [{ uri: uri.href, text: 'the first note' }] }));

server.registerResource('numbered', new ResourceTemplate('note://numbered/{number}', { list: undefined }),
  { description: 'Any other note.' },
  async (uri, { number }) => ({ contents: [{ uri: uri.href, text: `note number ${number}` }] }));

await server.connect(new StdioServerTransport());
