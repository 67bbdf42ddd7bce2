/** A model provider's format. `openai` is `openai-responses`. */
export type Provider = 'anthropic' | 'openai' | 'openai-responses' | 'openai-chat' | 'gemini' | 'bedrock'

/** `meta`: five small tools that find and call all others. `all`: all definitions. */
export type Loading = 'meta' | 'all'

export interface OpenOptions {
  /** The URL of a running Pegboard. Without it, one with the same configuration is found or started. */
  url?: string
  /** The token for `url`; otherwise it is read from the state directory. */
  token?: string
  /** The program: this one, `PEGBOARD_PROGRAM`, the one of this package, or `pegboard` in PATH. */
  program?: string
  /** The project's directory; by default the nearest parent directory with a project file. */
  project?: string
  /** Instead of the user's own configuration directory. */
  configDir?: string
  /** Instead of the user's own state directory. */
  stateDir?: string
  /** Milliseconds until a new Pegboard must have started; 30,000 by default. */
  startTimeout?: number
}

/** A tool in a list. */
export interface ToolSummary {
  /** The name to call it by, usually `server__tool`. */
  name: string
  description: string
  /** At most 80 characters. */
  summary: string
  type: 'native' | 'mcp'
  server?: string
  /** The server's own name for it. */
  tool: string
  category: string
  policy: 'allow' | 'ask' | 'deny' | 'disable'
  asksIfPossible: boolean
  enabled: boolean
  discoveryStatus: 'never' | 'discovering' | 'success' | 'failed'
  /** Milliseconds since 1970. */
  lastDiscovered?: number
  stale: boolean
  tokens: number
  deprecated?: string
  note?: string
}

/** All details of a tool. */
export interface ToolDetails extends ToolSummary {
  title?: string
  signature: string
  parameters: Array<Record<string, unknown>>
  examples: Array<Record<string, unknown>>
  related: string[]
  annotations: Record<string, unknown> | null
  /** The server's own definition, verbatim. */
  definition: Record<string, unknown>
  formats: string[]
}

/** A search result. Scores are comparable only within one response. */
export interface Hit {
  score: number
  tool: ToolSummary
}

/** The response of a tool. */
export interface CallResult {
  /** Whether the tool reported a failure. */
  readonly isError: boolean
  /** `TOOL_FAILED` if the tool reported a failure. */
  readonly code: 'TOOL_FAILED' | undefined
  /** `complete`, unless the tool continues as a task or requests input. */
  readonly outcome: 'complete' | 'task' | 'input_required'
  /** The server's result, unchanged. */
  readonly result: Record<string, unknown>
  /** The result's `structuredContent`. */
  readonly structured: unknown
  /** The texts of the result, or its structured content as JSON. */
  readonly text: string
}

/** A part of a result for a model. */
export type Content = { type: 'text'; text: string } | { type: 'image'; mimeType: string; data: string }

/** The result of a model's call. An error is a text that the model can read. */
export interface ToolUseResult {
  readonly isError: boolean
  readonly content: Content[]
  /** The error code; absent without an error, and for failed searches and other lookups. */
  readonly code: string | undefined
  /** The tool that was called; absent for searches and other lookups. */
  readonly tool: string | undefined
  readonly server: string | undefined
  /** The texts of the result. */
  readonly text: string
}

export interface AnthropicTool {
  name: string
  description?: string
  input_schema: { type: 'object'; properties?: Record<string, unknown>; required?: string[]; [key: string]: unknown }
  input_examples?: Array<Record<string, unknown>>
}

export interface ResponsesTool {
  type: 'function'
  name: string
  description?: string
  parameters: Record<string, unknown> | null
  strict: boolean | null
}

export interface ChatTool {
  type: 'function'
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null }
}

export interface GeminiTool {
  functionDeclarations: Array<Record<string, unknown>>
}

export interface BedrockTool {
  toolSpec: { name: string; description?: string; inputSchema: { json: Record<string, unknown> } }
}

/** The definitions of each format. */
export interface Definitions {
  anthropic: AnthropicTool[]
  openai: ResponsesTool[]
  'openai-responses': ResponsesTool[]
  'openai-chat': ChatTool[]
  gemini: GeminiTool[]
  bedrock: BedrockTool[]
}

/** A client of the Anthropic SDK. */
export interface AnthropicClient {
  messages: { create(body: any, options?: any): PromiseLike<any> }
}

/** A client of the OpenAI SDK, or of one with the same methods. */
export interface OpenAIClient {
  chat: { completions: { create(body: any, options?: any): PromiseLike<any> } }
  responses: { create(body: any, options?: any): PromiseLike<any> }
}

/** A request of the SDK, without streaming. Pegboard's tools are added to `tools`. */
export type Request<Body, History extends string> = Body & { stream?: false } & { [key in History]: unknown }

/** The whole response of an SDK's method, as opposed to a stream. */
type Whole<Method extends (...args: any[]) => unknown> = Exclude<Awaited<ReturnType<Method>>, AsyncIterable<any>>

/** A call of the model and its result. */
export interface Call {
  id: string
  name: string
  /** What the model wrote: an object, or a JSON text. */
  arguments: unknown
  result: ToolUseResult
}

/** The outcome of `runTools`. */
export interface Run<Response = unknown> {
  /** The text of the last response. */
  text: string
  /**
   * Why the model stopped, in the provider's words (`end_turn`, `stop`, `completed`, `refusal`, `max_tokens`, …), or
   * `max_rounds`.
   */
  stop: string
  /** The SDK's last response. */
  response: Response
  /** The conversation, to continue it: the next `messages` or `input`. */
  messages: any[]
  /** The number of requests to the model. */
  rounds: number
  /** All calls of the model, in order. */
  calls: Call[]
}

export interface RunOptions {
  /** Requests to the model; 20 by default. */
  maxRounds?: number
  loading?: Loading
  /** The program's own functions, by the names of their tools in the request. */
  handlers?: Record<string, (args: any) => unknown>
  /** Aborts the requests to the model and the calls. */
  signal?: AbortSignal
}

/** A client of a Pegboard on this machine. */
export class Pegboard {
  private constructor()

  /**
   * Connects to the Pegboard at `url`, to a running one with the same configuration, or to a new one, which ends with
   * `close` and with this process. Throws a `PegboardError` if there is none.
   */
  static open(options?: OpenOptions): Promise<Pegboard>

  /** The URL of the Pegboard. */
  readonly url: string

  /** Returns the tools for a request to a model: the value of the request's `tools`. */
  definitions<P extends Provider>(provider: P, options?: { loading?: Loading }): Promise<Definitions[P]>

  /** Returns a summary of all tools for a system prompt, in under 500 tokens. */
  contextSummary(): Promise<string>

  /** Searches tools by words and meaning, best first. */
  search(query: string, options?: { limit?: number }): Promise<Hit[]>

  /** Returns all details of a tool. */
  describe(tool: string): Promise<ToolDetails>

  /**
   * Calls a tool; its server is started if necessary. A tool's own error is a result with `isError`. Throws a
   * `PegboardError` if the tool did not respond: unknown tool, invalid arguments, denied by a policy or a person, a
   * failing server. A tool with the policy `ask` waits for a person's decision.
   */
  call(tool: string, args?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<CallResult>

  /**
   * Runs a call of a model that got `definitions(provider, { loading })`. `args` are what the model wrote: an object,
   * or a JSON text. Errors are results that the model can read.
   */
  runToolUse(
    provider: Provider,
    name: string,
    args?: unknown,
    options?: { loading?: Loading; signal?: AbortSignal },
  ): Promise<ToolUseResult>

  /**
   * Sends a request with a client of the Anthropic or OpenAI SDK, runs the model's calls, and continues until the model
   * stops. OpenAI requests with `input` use Responses, those with `messages` Chat Completions. Errors of the SDK are
   * not caught; failing calls are results for the model.
   */
  runTools<C extends OpenAIClient>(
    client: C,
    request: Request<{ model: string; [key: string]: unknown }, 'input'> & { messages?: undefined },
    options?: RunOptions,
  ): Promise<Run<Whole<C['responses']['create']>>>
  runTools<C extends OpenAIClient>(
    client: C,
    request: Request<{ model: string; [key: string]: unknown }, 'messages'> & { input?: undefined },
    options?: RunOptions,
  ): Promise<Run<Whole<C['chat']['completions']['create']>>>
  runTools<C extends AnthropicClient>(
    client: C,
    request: Request<{ model: string; max_tokens: number; [key: string]: unknown }, 'messages'>,
    options?: RunOptions,
  ): Promise<Run<Whole<C['messages']['create']>>>

  /** Ends a Pegboard that this client started, with all its servers. A shared one keeps running. */
  close(): Promise<void>
}

/** Why a request failed: Pegboard refused it, or could not be started or reached. */
export class PegboardError extends Error {
  private constructor()
  /** The code; each has a page in docs/errors. */
  readonly code: string
  /** What happened, without the next step and the code, which `message` contains too. */
  readonly reason: string
  /** The next step. */
  readonly remedy: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** The HTTP status, if there was a response. */
  readonly status?: number
  /** Where they are known. */
  readonly details: { field?: string; server?: string; tool?: string; nearest?: string[] }
}
