// The APIs of the official Anthropic and OpenAI SDKs. Only properties of their objects are used.
import { PegboardError } from './errors.js'

/** Returns the API for an SDK's client and a request. */
export function providerOf(client, request) {
  if (client?.chat && client.responses && request.input !== undefined) return responses
  if (client?.chat) return chatCompletions
  if (client?.messages) return messages
  const name = client?.constructor?.name ?? typeof client
  const message = `\`${name}\` is not a client of the Anthropic or OpenAI SDK`
  throw new PegboardError('REQUEST_INVALID', message, 'For other SDKs use `definitions` and `runToolUse`.')
}

/** Anthropic Messages. */
const messages = {
  provider: 'anthropic',
  history: 'messages',
  initial: (earlier) => [...earlier],
  create: (client, request, { signal }) => client.messages.create(request, { signal }),
  text: (response) => textOf(response.content),
  stop: (response) => response.stop_reason,
  calls: (response) =>
    response.content
      .filter((block) => block.type === 'tool_use')
      .map(({ id, name, input }) => ({ id, name, arguments: input })),
  isCutOff: (response) => !['tool_use', 'end_turn', 'stop_sequence'].includes(response.stop_reason),
  continues: (response) => response.stop_reason === 'pause_turn',
  // The service refuses empty messages.
  messages: ({ content }) => (content.length > 0 ? [{ role: 'assistant', content }] : []),
  results: (calls, results) => [
    {
      role: 'user',
      content: calls.map((call, place) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: results[place].content.map(block),
        is_error: results[place].isError,
      })),
    },
  ],
}

function textOf(blocks) {
  return blocks.filter((block) => block.type === 'text').map((block) => block.text).join('')
}

function block(part) {
  if (part.type === 'text') return { type: 'text', text: part.text || '(no content)' }
  return { type: 'image', source: { type: 'base64', media_type: part.mimeType, data: part.data } }
}

/** OpenAI Chat Completions, and compatible servers. */
const chatCompletions = {
  provider: 'openai-chat',
  history: 'messages',
  initial: (earlier) => [...earlier],
  create: (client, request, { signal }) => client.chat.completions.create(request, { signal }),
  text: ({ choices }) => choices[0].message.content ?? choices[0].message.refusal ?? '',
  stop: ({ choices }) => (choices[0].message.refusal ? 'refusal' : choices[0].finish_reason),
  calls: ({ choices }) => (choices[0].message.tool_calls ?? []).map(chatCall),
  isCutOff: ({ choices }) => ['length', 'content_filter'].includes(choices[0].finish_reason),
  continues: () => false,
  messages: ({ choices }) => [choices[0].message],
  results: (calls, results) =>
    calls.map((call, place) => ({ role: 'tool', tool_call_id: call.id, content: textOnly(results[place]) })),
}

function chatCall(call) {
  // A custom tool of the program has a text as input.
  if (!call.function) return { id: call.id, name: call.custom.name, arguments: { input: call.custom.input } }
  return { id: call.id, name: call.function.name, arguments: call.function.arguments }
}

/** OpenAI Responses. */
const responses = {
  provider: 'openai-responses',
  history: 'input',
  initial: (earlier) => (typeof earlier === 'string' ? [{ role: 'user', content: earlier }] : [...earlier]),
  create: (client, request, { signal }) => client.responses.create(request, { signal }),
  text: (response) => parts(response).map((part) => part.text ?? part.refusal ?? '').join(''),
  stop: (response) => {
    if (parts(response).some((part) => part.type === 'refusal')) return 'refusal'
    return response.incomplete_details?.reason ?? response.status
  },
  calls: (response) =>
    response.output
      .filter((item) => item.type === 'function_call')
      .map((item) => ({ id: item.call_id, name: item.name, arguments: item.arguments })),
  isCutOff: ({ status }) => (status ?? 'completed') !== 'completed',
  continues: () => false,
  messages: (response) => response.output,
  results: (calls, results) =>
    calls.map((call, place) => ({
      type: 'function_call_output',
      call_id: call.id,
      output: textOnly(results[place]),
    })),
}

function parts(response) {
  return response.output.filter((item) => item.type === 'message').flatMap((item) => item.content)
}

/** A result for APIs whose results are texts; images are named. */
function textOnly(result) {
  const texts = result.content.map((part) => (part.type === 'text' ? part.text : `[image ${part.mimeType}]`))
  return texts.join('\n') || '(no content)'
}
