// Finds a running Pegboard, or starts one that ends with this process.
//
// `pegboard serve --reuse` prints the address of a running Pegboard with the same configuration; otherwise it serves at
// a free port. With `--exit-on-eof` it stops when its standard input closes, which the system does when this process
// ends, even if it is killed.
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { PegboardError, errorOf } from './errors.js'

const PROGRAM_VARIABLE = 'PEGBOARD_PROGRAM'
/** Milliseconds for a started Pegboard to end its servers; then it is killed. */
const STOP_TIMEOUT = 10_000
/** Characters of the program's messages that are kept for an error. */
const KEPT_CHARACTERS = 8192

/** Returns a running Pegboard with this configuration, or starts one. */
export async function start(options) {
  const program = options.program ?? process.env[PROGRAM_VARIABLE] ?? (await packagedProgram()) ?? 'pegboard'
  const args = ['serve', '--json', '--quiet', '--port', '0', '--reuse', '--exit-on-eof']
  if (options.project !== undefined) args.push('--project', options.project)
  const env = { ...process.env }
  if (options.configDir !== undefined) env.PEGBOARD_CONFIG_DIR = path.resolve(options.configDir)
  if (options.stateDir !== undefined) env.PEGBOARD_STATE_DIR = path.resolve(options.stateDir)
  // Its own session: Ctrl-C reaches this process, which then closes it.
  const child = spawn(program, args, { env, stdio: 'pipe', detached: true })
  try {
    const address = await announced(child, program, options.startTimeout ?? 30_000)
    const token = await tokenOf(address)
    const url = address.dashboard.replace(/\/+$/, '')
    if (address.reused) {
      await stop(child)
      return { url, token }
    }
    // From here on it does not keep this process running.
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part.unref()
    return { url, token, child }
  } catch (error) {
    await stop(child)
    throw error
  }
}

/** The program of this package's platform package, if it is installed. */
async function packagedProgram() {
  try {
    const { programPath } = await import('../bin/program.js')
    return programPath()
  } catch {
    return undefined
  }
}

/** Waits for the address that the program prints. */
function announced(child, program, timeout) {
  return new Promise((resolve, reject) => {
    let [printed, messages] = ['', '']
    const timer = setTimeout(() => {
      reject(notStarted(program, messages, `it printed no address within ${timeout / 1000} seconds`))
    }, timeout)
    const done = (settle, value) => {
      clearTimeout(timer)
      settle(value)
    }
    // Both streams are read to their end, so that the pipes never fill.
    child.stdout.setEncoding('utf8').on('data', (text) => {
      if (printed === undefined) return
      printed += text
      const address = parsed(printed)
      if (address?.dashboard === undefined) return
      printed = undefined
      done(resolve, address)
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      messages = (messages + text).slice(-KEPT_CHARACTERS)
    })
    // The program may end before it reads its input.
    child.stdin.on('error', () => {})
    child.on('error', (cause) => done(reject, notSpawned(program, cause)))
    child.on('close', () => done(reject, notStarted(program, messages, 'it ended')))
  })
}

async function tokenOf(address) {
  if (address.token !== undefined) return address.token
  if (!address.token_file) return undefined
  try {
    return (await readFile(address.token_file, 'utf8')).trim()
  } catch (cause) {
    const message = `cannot read the token in ${address.token_file}: ${cause.message}`
    throw new PegboardError('STORE_IO', message, 'Check the permissions of the state directory.', { cause })
  }
}

/** Ends a started Pegboard with all its servers. */
export function stop(child) {
  const isGone = child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  if (isGone) return Promise.resolve()
  return new Promise((resolve) => {
    child.ref()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT)
    child.on('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.stdin.destroy()
  })
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function notSpawned(program, cause) {
  const isMissing = cause.code === 'ENOENT'
  const message = `cannot start \`${program}\`: ${isMissing ? 'the program is not installed' : cause.message}`
  const remedy = `Install Pegboard, or set \`program\` or ${PROGRAM_VARIABLE}.`
  return new PegboardError(isMissing ? 'SPAWN_NOT_FOUND' : 'SPAWN_FAILED', message, remedy, { cause })
}

function notStarted(program, messages, why) {
  const lines = messages.split('\n').map(parsed)
  const failure = lines.find((line) => line?.error !== undefined)
  if (failure) return errorOf(failure)
  const shown = messages.trim()
  const message = `cannot start \`${program}\`: ${why}${shown && `: ${shown}`}`
  return new PegboardError('SPAWN_FAILED', message, 'Check that `program` is a Pegboard of the same version.')
}
