// The error of every function of this package.

/** Why a request failed: Pegboard refused it, or could not be started or reached. */
export class PegboardError extends Error {
  constructor(code, message, remedy = '', more = {}) {
    const parts = [`${message.replace(/\.$/, '')}.`, remedy, `[${code}]`]
    super(parts.filter(Boolean).join(' '), more.cause && { cause: more.cause })
    this.name = 'PegboardError'
    this.code = code
    this.reason = message
    this.remedy = remedy
    this.retryable = more.retryable ?? false
    this.status = more.status
    this.details = more.details ?? {}
  }
}

/** Returns the error of a response, or of the program's output with `--json`. */
export function errorOf(body, status) {
  const error = body?.error
  if (typeof error !== 'object' || error === null) {
    const message = `the response with status ${status} is not one of Pegboard`
    return new PegboardError('HTTP_PROTOCOL', message, 'Check the URL.', { status })
  }
  // The program writes its class as `code` and the code as `reason`; the API has only `code`.
  const code = String(error.reason ?? error.code ?? 'INTERNAL')
  const known = ['field', 'server', 'tool', 'nearest'].filter((key) => error[key] !== undefined)
  return new PegboardError(code, String(error.message ?? ''), String(error.remedy ?? ''), {
    retryable: error.retryable === true,
    status,
    details: Object.fromEntries(known.map((key) => [key, error[key]])),
  })
}
