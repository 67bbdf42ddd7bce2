// A client with the TypeScript SDK that uses every feature of the gateway.
//
// `typescript_client.mjs TASK` reads its options as one line of JSON from standard input and writes its results as
// one line of JSON: an object from step to result; the result of a failed step is the error.
// `mode` is `auto`, `legacy` or a revision for the second generation of the SDK, `first` for the first one.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const STEP_TIMEOUT_MS = 30_000;
const seen = {};
let asked = [];

const require = createRequire(process.env.NODE_MODULES_OF + '/package.json');
const load = name => import(pathToFileURL(require.resolve('@modelcontextprotocol/' + name)));
// The package of the second generation exports its modules for `import` only.
const loadSecond = file => import(pathToFileURL(`${process.env.NODE_MODULES_OF}/node_modules/@modelcontextprotocol/client/dist/${file}`));

const answers = {
  'elicitation/create': ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { name: 'Ada' } };
  },
  'sampling/createMessage': ({ params }) => {
    const [{ content }] = params.messages;
    asked.push((Array.isArray(content) ? content[0] : content).text);
    return { role: 'assistant', model: 'test', content: { type: 'text', text: 'Paris' } };
  },
  'roots/list': () => {
    asked.push('roots');
    return { roots: [{ uri: 'file:///home/ada', name: 'home' }] };
  },
};
const identity = { name: 'test-client', version: '1.0.0' };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

/** Connects; what differs between the two generations is all here. */
async function connect({ mode, ...options }, address, onToolsChanged) {
  const target = options[address];
  const listChanged = onToolsChanged && { tools: { debounceMs: 0, autoRefresh: false, onChanged: onToolsChanged } };
  if (mode === 'first') {
    const { Client } = await load('sdk/client/index.js');
    const { StdioClientTransport } = await load('sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await load('sdk/client/streamableHttp.js');
    const { CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } =
      await load('sdk/types.js');
    const client = new Client(identity, { capabilities, listChanged });
    client.setRequestHandler(ElicitRequestSchema, answers['elicitation/create']);
    client.setRequestHandler(CreateMessageRequestSchema, answers['sampling/createMessage']);
    client.setRequestHandler(ListRootsRequestSchema, answers['roots/list']);
    const transport = typeof target === 'string'
      ? new StreamableHTTPClientTransport(new URL(target))
      : new StdioClientTransport(target);
    await client.connect(transport);
    const call = (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options);
    return { client, call, transport, revision: () => client.transport?._protocolVersion ?? '2025-11-25' };
  }
  const { Client, StreamableHTTPClientTransport } = await loadSecond('index.mjs');
  const { StdioClientTransport } = await loadSecond('stdio.mjs');
  const chosen = ['auto', 'legacy'].includes(mode) ? mode : { pin: mode };
  const client = new Client(identity, { capabilities, listChanged, versionNegotiation: { mode: chosen } });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(method, async request => answer(request));
  }
  const transport = typeof target === 'string'
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport(target);
  await client.connect(transport);
  const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
  return { client, call, transport, revision: () => client.getNegotiatedProtocolVersion() };
}

const textOf = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('\n');

async function step(name, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('this took too long')), STEP_TIMEOUT_MS);
  });
  try {
    seen[name] = await Promise.race([run(), late]);
  } catch (error) {
    seen[name] = { failed: `${error?.constructor?.name}: ${error?.message}` };
  } finally {
    clearTimeout(timer);
  }
}

async function waitForNote(file, what) {
  while (!existsSync(file) || !readFileSync(file, 'utf8').includes(what)) {
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

async function tour(options) {
  const it = await connect(options, 'lazy');
  const { client, call } = it;
  const text = async (tool, args) => textOf(await call(tool, args));
  seen.revision = it.revision();
  await step('tools', async () => (await client.listTools()).tools.map(tool => tool.name));
  await step('search', () => text('search_tools', { query: 'add two whole numbers' }));
  await step('list', () => text('list_available_tools', {}));
  await step('describe', () => text('get_tool_description', { tool_name: 'legacy__steps' }));
  for (const server of ['modern', 'legacy']) {
    await calls(it, server, options.notes);
    await questions(it, server);
  }
  await referenceServer(it);
  await offers(it);
  await client.close();
}

/** The same calls with the reference server of the MCP project. */
async function referenceServer({ call }) {
  const text = async (tool, args) => textOf(await call(`everything__${tool}`, args));
  await step('everything: echo', () => text('echo', { message: 'hé' }));
  await step('everything: progress', async () => {
    const received = [];
    const onprogress = ({ progress, total }) => total && received.push([progress, total]);
    // The last report may come together with the result, and then this SDK drops it.
    await call('everything__trigger-long-running-operation', { duration: 1, steps: 2 }, { onprogress });
    return received[0];
  });
  await step('everything: elicitation', () => text('trigger-elicitation-request', {}));
  await step('everything: sampling', () => text('trigger-sampling-request', { prompt: 'Where?' }));
  await step('everything: roots', () => text('get-roots-list', {}));
}

async function calls({ call }, server, notes) {
  const summary = result => ({
    text: textOf(result),
    structured: result.structuredContent ?? null,
    is_error: result.isError ?? false,
  });
  await step(`${server}: call_tool`, async () =>
    summary(await call('call_tool', { tool_name: `${server}__add`, arguments: { a: 2, b: 3 } })));
  await step(`${server}: by name`, async () => summary(await call(`${server}__add`, { a: 20, b: 3 })));
  await step(`${server}: wrong arguments`, async () => {
    const result = await call(`${server}__add`, { a: 'two' });
    return { is_error: result.isError, reason: result.structuredContent?.reason };
  });
  await step(`${server}: unknown`, async () => {
    try {
      await call(`${server}__ad`, {});
    } catch (error) {
      return error.code;
    }
    return 'answered';
  });
  const progress = async (tool, args) => {
    const received = [];
    const file = `${notes}/${server}-${tool}`;
    const onprogress = ({ progress, total, message }) => {
      // Without a total it is the SDK itself, which reports that it handles a request of the server.
      if (total === undefined) return;
      received.push([progress, total, message]);
      appendFileSync(file, `received ${progress}\n`);
    };
    const request = { tool_name: `${server}__${tool}`, arguments: { ...args, notes: file } };
    const result = await call('call_tool', request, { onprogress });
    return { received, text: textOf(result) };
  };
  await step(`${server}: progress`, () => progress('steps', { count: 3 }));
  await step(`${server}: progress after a question`, () => progress('interview', {}));
  await step(`${server}: cancel`, async () => {
    const file = `${notes}/${server}-cancel`;
    const controller = new AbortController();
    const waiting = call(`${server}__wait`, { notes: file }, { signal: controller.signal }).catch(() => {});
    await waitForNote(file, 'waiting');
    controller.abort('the user changed their mind');
    await waiting;
    await waitForNote(file, 'cancelled');
    return textOf(await call(`${server}__add`, { a: 4, b: 4 }));
  });
  await step(`${server}: death`, async () => {
    const result = await call('call_tool', { tool_name: `${server}__die` });
    const again = await call(`${server}__add`, { a: 5, b: 5 });
    const { code, reason } = result.structuredContent ?? {};
    return { is_error: result.isError, code, reason, text: textOf(result), again: textOf(again) };
  });
}

async function questions({ call }, server) {
  for (const tool of ['greet', 'think', 'folders']) {
    asked = [];
    await step(`${server}: ${tool}`, async () => {
      const by_name = textOf(await call(`${server}__${tool}`, {}));
      const wrapped = textOf(await call('call_tool', { tool_name: `${server}/${tool}`, arguments: {} }));
      return { asked: [...asked], by_name, call_tool: wrapped };
    });
  }
}

async function offers({ client }) {
  await step('prompts', async () => (await client.listPrompts()).prompts.map(prompt => prompt.name).sort());
  await step('resources', async () => (await client.listResources()).resources.map(resource => resource.uri).sort());
  await step('templates', async () =>
    (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate).sort());
  for (const server of ['modern', 'legacy']) {
    const read = async uri => (await client.readResource({ uri })).contents[0].text;
    await step(`${server}: prompt`, async () => {
      const prompt = await client.getPrompt({ name: `${server}__greeting`, arguments: { name: 'Bo' } });
      return prompt.messages[0].content.text;
    });
    await step(`${server}: read`, () => read(`pegboard://${server}/note://one`));
    await step(`${server}: read by template`, () => read(`pegboard://${server}/note://numbered/7`));
  }
}

/** In a profile that lists every tool, the client is notified when a server adds a tool. */
async function changes(options) {
  let onChange;
  const notified = new Promise(resolve => (onChange = resolve));
  const { client, call } = await connect(options, 'direct', onChange);
  const grown = async () => {
    const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' });
    return tools.map(tool => tool.name).filter(name => name.endsWith('__grown'));
  };
  await step('grow', async () => {
    const before = await grown();
    // A server notifies its subscribers, and Pegboard subscribes once the server runs.
    await call(`${options.server}__add`, { a: 1, b: 1 });
    await call(`${options.server}__grow`, {});
    await notified;
    return { before, after: await grown() };
  });
  await client.close();
}

/** Calls before and after a restart of the gateway; prints `ready` in between. */
async function restart(options) {
  const { client, call, transport } = await connect(options, 'lazy');
  const add = async () => textOf(await call('modern__add', { a: 1, b: 1 }));
  await step('before', add);
  seen.session = transport.sessionId;
  console.log('ready');
  await line();
  await step('after', add);
  seen.same_session = transport.sessionId === seen.session;
  delete seen.session;
  await client.close();
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const line = async () => (await lines.next()).value;
const tasks = { tour, changes, restart };
try {
  await tasks[process.argv[2]](JSON.parse(await line()));
} catch (error) {
  seen.failed = `${error?.constructor?.name}: ${error?.message}`;
}
console.log(JSON.stringify(seen));
process.exit(0);
