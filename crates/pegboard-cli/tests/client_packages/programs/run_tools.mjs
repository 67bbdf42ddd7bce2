// Runs a scripted conversation with an SDK and prints the outcome as JSON: run_tools.mjs INSTRUCTION.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { Pegboard } from 'pegboard'

const ask = JSON.parse(process.argv[2])
const { api } = ask
const settings = { apiKey: 'sk-test', baseURL: ask.url, maxRetries: 0 }
const client = api === 'anthropic' ? new Anthropic(settings) : new OpenAI(settings)

const user = (content) => ({ role: 'user', content })
const request = (conversation) => {
  const own = ask.own ? { tools: [ownTool()] } : {}
  if (api === 'anthropic') return { model: 'm-1', max_tokens: 1000, messages: conversation, ...own }
  if (api === 'openai-responses') return { model: 'm-1', input: conversation, ...own }
  return { model: 'm-1', messages: conversation, ...own }
}

function ownTool() {
  const schema = { type: 'object', properties: { id: {} } }
  const tool = { name: 'order_status', description: "Returns an order's status." }
  if (api === 'anthropic') return { ...tool, input_schema: schema }
  if (api === 'openai-responses') return { ...tool, type: 'function', parameters: schema, strict: false }
  return { type: 'function', function: { ...tool, parameters: schema, strict: false } }
}

const handlers = {
  order_status: async ({ id }) => {
    if (id !== 7) throw new Error('no such order')
    return { id, status: 'shipped' }
  },
}

const pegboard = await Pegboard.open()
const options = { maxRounds: ask.maxRounds, loading: ask.loading, handlers: ask.own && handlers }
const run = await pegboard.runTools(client, request([user('Add.')]), options)
let then = null
if (ask.then) {
  const more = await pegboard.runTools(client, request([...run.messages, user(ask.then)]), options)
  then = more.text
}
await pegboard.close()
const calls = run.calls.map(({ name, result: { isError, code, text, tool } }) => ({
  name,
  isError,
  code: code ?? null,
  text,
  tool: tool ?? null,
}))
console.log(JSON.stringify({ text: run.text, stop: run.stop, rounds: run.rounds, calls, then }))
