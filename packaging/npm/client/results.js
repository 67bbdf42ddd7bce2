// What the methods return.

/** The response of a tool. */
export class CallResult {
  constructor({ isError, outcome, result }) {
    this.isError = isError
    this.outcome = outcome
    this.result = result
    this.code = isError ? 'TOOL_FAILED' : undefined
  }

  get structured() {
    return this.result.structuredContent
  }

  get text() {
    const blocks = this.result.content ?? []
    const texts = blocks.filter((block) => typeof block?.text === 'string').map((block) => block.text)
    if (texts.length === 0 && this.structured !== undefined) return JSON.stringify(this.structured)
    return texts.join('\n')
  }
}

/** The result of a model's call. */
export class ToolUseResult {
  constructor({ isError, content, outcome, tool, server }) {
    this.isError = isError
    this.content = content
    this.code = outcome === 'ok' ? undefined : outcome
    this.tool = tool
    this.server = server
  }

  get text() {
    return this.content.filter((part) => part.type === 'text').map((part) => part.text).join('\n')
  }
}

/** Returns a result with one text. */
export function textResult(text, isError = false, code = 'ok') {
  return new ToolUseResult({ isError, content: [{ type: 'text', text }], outcome: code })
}
