// Opens a client, calls a tool, and waits for `close` or the end of its input.
import readline from 'node:readline'
import { Pegboard } from 'pegboard'

const pegboard = await Pegboard.open()
await pegboard.call('example__add_numbers', { a: 1, b: 2 })
console.log('ready')
for await (const line of readline.createInterface({ input: process.stdin })) {
  if (line.trim() !== 'close') continue
  await pegboard.close()
  await pegboard.close()
  await pegboard.search('x').catch((error) => console.log('closed', error.code))
}
