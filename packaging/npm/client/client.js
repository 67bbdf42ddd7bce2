// The client.
import { PegboardError } from './errors.js'
import { Api } from './http.js'
import { start, stop } from './process.js'
import { providerOf } from './providers.js'
import { CallResult, ToolUseResult, textResult } from './results.js'
import { runConversation, runOwn } from './run.js'

/** A client of a Pegboard on this machine. */
export class Pegboard {
  #api
  #child
  #discovered
  #isClosed = false

  constructor(api, child) {
    this.#api = api
    this.#child = child
  }

  static async open(options = {}) {
    if (options.url !== undefined) return new Pegboard(new Api(options.url, options.token))
    const { url, token, child } = await start(options)
    return new Pegboard(new Api(url, options.token ?? token), child)
  }

  get url() {
    return this.#api.url
  }

  async close() {
    this.#isClosed = true
    const child = this.#child
    this.#child = undefined
    if (child) await stop(child)
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.close()
  }

  async definitions(provider, { loading = 'meta' } = {}) {
    if (loading === 'all') await this.#discover()
    const { tools } = await this.#open().get(['definitions'], { format: format(provider), loading })
    return tools
  }

  async contextSummary() {
    await this.#discover()
    const { summary } = await this.#open().get(['context'])
    return summary.text
  }

  async search(query, { limit = 10 } = {}) {
    await this.#discover()
    const { hits } = await this.#open().get(['search'], { q: query, limit })
    return hits
  }

  async describe(tool) {
    await this.#discover()
    return this.#open().get(['tools', tool])
  }

  async call(tool, args = {}, { signal } = {}) {
    return new CallResult(await this.#open().post(['tools', tool, 'call'], { arguments: args }, signal))
  }

  async runToolUse(provider, name, args = {}, { loading = 'meta', signal } = {}) {
    const body = { format: format(provider), loading, name, arguments: args }
    try {
      return new ToolUseResult(await this.#open().post(['model-calls'], body, signal))
    } catch (error) {
      if (error instanceof PegboardError) return textResult(error.message, true, error.code)
      throw error
    }
  }

  async runTools(client, request, options = {}) {
    const api = providerOf(client, request)
    const { loading = 'meta', handlers = {}, signal } = options
    const definitions = await this.definitions(api.provider, { loading })
    const run = (call) =>
      Object.hasOwn(handlers, call.name)
        ? runOwn(handlers[call.name], call)
        : this.runToolUse(api.provider, call.name, call.arguments, { loading, signal })
    return runConversation(api, client, request, definitions, options, run)
  }

  /** Discovers unknown servers once, so that the first search of a new Pegboard finds something. */
  async #discover() {
    this.#discovered ??= this.#open().post(['discover'])
    try {
      await this.#discovered
    } catch (error) {
      this.#discovered = undefined
      throw error
    }
  }

  #open() {
    if (this.#isClosed) throw new PegboardError('NOT_RUNNING', 'the client is closed', 'Open a new one.')
    return this.#api
  }
}

function format(provider) {
  return provider === 'openai' ? 'openai-responses' : provider
}
