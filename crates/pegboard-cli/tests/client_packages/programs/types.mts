// Only compiled: what fits the SDKs' types, and what the types refuse.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { Pegboard, PegboardError, type CallResult, type Hit, type Run } from 'pegboard'

const pegboard = await Pegboard.open({ project: '.', startTimeout: 1000 })
const anthropic = new Anthropic()
const openai = new OpenAI()

const messagesTools: Anthropic.ToolUnion[] = await pegboard.definitions('anthropic')
const responsesTools: OpenAI.Responses.Tool[] = await pegboard.definitions('openai', { loading: 'all' })
const chatTools: OpenAI.ChatCompletionTool[] = await pegboard.definitions('openai-chat')

const message: Run<Anthropic.Message> = await pegboard.runTools(anthropic, {
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'x' }],
})
const response: Run<OpenAI.Responses.Response> = await pegboard.runTools(openai, { model: 'm', input: 'x' })
const completion: Run<OpenAI.ChatCompletion> = await pegboard.runTools(
  openai,
  { model: 'm', messages: [{ role: 'user', content: 'x' }] },
  { maxRounds: 3, handlers: { own: ({ id }) => id } },
)
const stop: string | null = message.response.stop_reason
const text: string = response.response.output_text + completion.response.choices[0]?.message.content

const hits: Hit[] = await pegboard.search('x', { limit: 1 })
const policy: 'allow' | 'ask' | 'deny' | 'disable' | undefined = hits[0]?.tool.policy
const result: CallResult = await pegboard.call('a__b', { c: 1 }, { signal: AbortSignal.timeout(1) })
const parts = (await pegboard.runToolUse('gemini', 'search_tools', '{}')).content
const shown = parts.map((part) => (part.type === 'text' ? part.text : part.mimeType))
try {
  await pegboard.close()
} catch (error) {
  if (error instanceof PegboardError) console.log(error.code, error.remedy, error.details.nearest)
}

// @ts-expect-error an unknown provider
await pegboard.definitions('acme')
// @ts-expect-error an unknown loading
await pegboard.definitions('gemini', { loading: 'some' })
// @ts-expect-error Anthropic requires `max_tokens`
await pegboard.runTools(anthropic, { model: 'm', messages: [] })
// @ts-expect-error streaming is not possible
await pegboard.runTools(openai, { model: 'm', input: 'x', stream: true })
// @ts-expect-error arguments are an object
await pegboard.call('a__b', [1])
// @ts-expect-error it is opened, not constructed
new Pegboard()

export { messagesTools, responsesTools, chatTools, stop, text, policy, result, shown }
