// Requests to the HTTP API. `fetch` is not used: it gives up on responses that take longer than five minutes, and a
// call may wait for a person.
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { PegboardError, errorOf } from './errors.js'

/** Milliseconds until a read fails. */
const READ_TIMEOUT = 60_000
/** The size of the largest response. A result can contain files, but must not fill the memory. */
const MAX_RESPONSE_BYTES = 128 * 1024 * 1024

/** The API of one running Pegboard. */
export class Api {
  constructor(url, token) {
    const parsed = parseUrl(url)
    if (!['http:', 'https:'].includes(parsed?.protocol)) {
      const message = `\`${url}\` is not the URL of a Pegboard`
      throw new PegboardError('REQUEST_INVALID', message, 'It begins with http:// or https://.')
    }
    this.url = url
    this.origin = parsed.origin
    this.base = parsed.pathname.replace(/\/+$/, '').replace(/\/mcp$/, '') + '/api/v1'
    this.client = parsed.protocol === 'https:' ? https : http
    // A random name lets a person allow a tool for all calls of this client.
    this.headers = { Accept: 'application/json', 'Pegboard-Session': randomUUID() }
    if (token !== undefined) this.headers.Authorization = `Bearer ${checked(token.trim())}`
  }

  /** Reads a resource. */
  get(path, query = {}) {
    const search = new URLSearchParams(Object.entries(query)).toString()
    return this.#request('GET', path, search && `?${search}`, undefined, { timeout: READ_TIMEOUT })
  }

  /** Sends a request that runs something. */
  post(path, body, signal) {
    return this.#request('POST', path, '', body, { signal })
  }

  async #request(method, path, search, body, options) {
    const target = [this.base, ...path.map(encodeURIComponent)].join('/') + search
    const headers = { ...this.headers }
    const data = body === undefined ? undefined : encoded(body)
    if (data !== undefined) headers['Content-Type'] = 'application/json'
    headers['Content-Length'] = data === undefined ? 0 : Buffer.byteLength(data)
    const { status, text } = await this.#send(target, { method, headers, ...options }, data)
    const document = parsed(text)
    if (status !== 200 || document === undefined) throw errorOf(document, status)
    return document
  }

  #send(target, options, data) {
    return new Promise((resolve, reject) => {
      const fail = (cause) => reject(options.signal?.aborted ? aborted(cause) : unreachable(this.url, cause))
      const request = this.client.request(new URL(target, this.origin), options, (response) => {
        const chunks = []
        let size = 0
        response.on('data', (chunk) => {
          size += chunk.length
          if (size <= MAX_RESPONSE_BYTES) return chunks.push(chunk)
          request.destroy()
          const message = `the response has more than ${MAX_RESPONSE_BYTES} bytes`
          reject(new PegboardError('HTTP_BODY_TOO_LARGE', message, 'Request a part of the result.'))
        })
        response.on('error', fail)
        response.on('aborted', () => fail(new Error('the connection was closed')))
        response.on('end', () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }))
      })
      request.on('timeout', () => request.destroy(new Error('no response in time')))
      request.on('error', fail)
      request.end(data)
    })
  }
}

function parseUrl(url) {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}

function checked(token) {
  if (/^[!-~]+$/.test(token)) return token
  const message = 'the token has characters that no token has'
  throw new PegboardError('TOKEN_WRONG', message, '`pegboard token` prints the token.')
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function encoded(body) {
  try {
    return JSON.stringify(body)
  } catch (cause) {
    const message = `the arguments are not JSON: ${cause.message}`
    throw new PegboardError('ARGS_INVALID', message, 'Pass an object of JSON values.', { cause })
  }
}

function unreachable(url, cause) {
  const message = `cannot reach Pegboard at ${url}: ${cause.message || cause.code}`
  const remedy = 'Check that it is still running, or open a new client.'
  return new PegboardError('NOT_RUNNING', message, remedy, { retryable: true, cause })
}

function aborted(cause) {
  return new PegboardError('CANCELLED', 'the request was aborted', '', { cause })
}
