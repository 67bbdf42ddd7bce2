// Calls methods of the client and prints their outcomes as JSON: methods.mjs INSTRUCTION.
import { Pegboard, PegboardError } from 'pegboard'

const ask = JSON.parse(process.argv[2])

async function outcome(pegboard, [method, ...args]) {
  if (method === 'url') return pegboard.url
  if (method === 'search') return (await pegboard.search(...args)).map((hit) => hit.tool.name)
  if (method === 'describe') return (await pegboard.describe(...args)).signature
  if (method === 'contextSummary') return pegboard.contextSummary()
  if (method === 'definitions') return (await pegboard.definitions(args[0], { loading: args[1] })).length
  const { isError, code, text } = await pegboard.call(...args)
  return { isError, code: code ?? null, text }
}

function failure(error) {
  if (!(error instanceof PegboardError)) throw error
  return { error: { code: error.code, remedy: error.remedy, shown: error.message, ...error.details } }
}

const printed = []
let pegboard
try {
  pegboard = await Pegboard.open(ask.open)
} catch (error) {
  printed.push(failure(error))
}
for (const step of pegboard ? ask.steps : []) {
  try {
    printed.push({ value: await outcome(pegboard, step) })
  } catch (error) {
    printed.push(failure(error))
  }
}
await pegboard?.close()
console.log(JSON.stringify(printed))
