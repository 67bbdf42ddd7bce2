// Every tool of every MCP server for a JavaScript program: a client of Pegboard. index.d.ts describes it.
export { Pegboard } from './client.js'
export { PegboardError } from './errors.js'
