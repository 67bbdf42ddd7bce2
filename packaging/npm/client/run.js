// The loop of `runTools`. Every call that the model makes gets exactly one result, in the order of the calls, whatever
// happens. So `messages` can always be sent again.
import { PegboardError } from './errors.js'
import { textResult } from './results.js'

/** Calls of one response that run at the same time. */
const MAX_CONCURRENT = 8
/** Requests to the model, unless another number is given. */
const MAX_ROUNDS = 20

/**
 * Sends requests until the model stops. `api` translates between the provider's API and calls, `run` runs one call.
 */
export async function runConversation(api, client, request, definitions, options, run) {
  if (request.stream) {
    const message = '`stream` is not possible with `runTools`'
    throw new PegboardError('REQUEST_INVALID', message, 'Remove it, or use `runToolUse` in your own loop.')
  }
  const maxRounds = Math.max(1, options.maxRounds ?? MAX_ROUNDS)
  const tools = [...definitions, ...(request.tools ?? [])]
  const messages = api.initial(request[api.history] ?? [])
  const calls = []
  const settle = (pending, results) => {
    pending.forEach((call, place) => calls.push({ ...call, result: results[place] }))
    messages.push(...api.results(pending, results))
  }
  for (let rounds = 1; ; rounds++) {
    const response = await api.create(client, { ...request, tools, [api.history]: [...messages] }, options)
    const pending = api.calls(response)
    messages.push(...api.messages(response))
    const outcome = { text: api.text(response), stop: api.stop(response), response, messages, rounds, calls }
    const isLast = rounds >= maxRounds
    if (pending.length === 0) {
      if (api.continues(response) && !isLast) continue
      return outcome
    }
    if (api.isCutOff(response)) {
      settle(pending, pending.map(() => notRun('the response ended before it was complete')))
      return outcome
    }
    if (isLast) {
      settle(pending, pending.map(() => notRun('the limit of requests to the model is reached')))
      return { ...outcome, stop: 'max_rounds' }
    }
    settle(pending, await runAll(pending, run))
  }
}

function notRun(why) {
  return textResult(`Not run: ${why}.`, true, 'CANCELLED')
}

/** Runs calls concurrently; the results have the order of the calls. */
async function runAll(pending, run) {
  const results = new Array(pending.length)
  let next = 0
  const worker = async () => {
    while (next < pending.length) {
      const place = next++
      results[place] = await run(pending[place])
    }
  }
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT, pending.length) }, worker))
  return results
}

/** Runs a function of the program. What it throws is a result that the model can read. */
export async function runOwn(handler, call) {
  try {
    const text = typeof call.arguments === 'string'
    const parsed = text ? JSON.parse(call.arguments || '{}') : call.arguments
    const value = await handler(parsed)
    return textResult(typeof value === 'string' ? value : (JSON.stringify(value) ?? '(no content)'))
  } catch (error) {
    return textResult(String(error), true, 'TOOL_FAILED')
  }
}
