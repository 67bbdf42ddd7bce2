#!/usr/bin/env node
// Runs the program of this platform's package in place of this process, as far as Node.js can do that.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { constants as system } from 'node:os'
import { isatty } from 'node:tty'
import { programPath } from './program.js'

// Signals that are passed on. A signal that cannot be caught (KILL, STOP) ends or stops only this process.
const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']

// How often the shell that npx started is looked at.
const PARENT_CHECK_MS = 500

/** Whether `npx pegboard` started this process. npx passes a signal to its shell only, which ends without passing it on. */
function isStartedByNpx() {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script } = process.env
  return event === 'npx' && /^['"]?pegboard['"]?(\s|$)/.test(script ?? '')
}

/** Replaces this process by the program. Returns if this version of Node.js cannot do that. */
function replace(program, args) {
  if (typeof process.execve !== 'function') return
  // A failing `execve` aborts with a stack trace, so the usual failure is found before.
  accessSync(program, constants.X_OK)
  process.execve(program, [program, ...args])
}

/** Runs the program as a child process, passes signals on, and ends as the program ends. */
function run(program, args) {
  let child
  // Registered before the program starts, so that no signal ends this process alone.
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      // A terminal sends these to both processes.
      const fromTerminal = isatty(0) && (signal === 'SIGINT' || signal === 'SIGQUIT')
      if (!fromTerminal) child.kill(signal)
    })
  }
  child = spawn(program, args, { stdio: 'inherit' })
  if (isStartedByNpx()) {
    const shell = process.ppid
    setInterval(() => process.ppid === shell || child.kill('SIGTERM'), PARENT_CHECK_MS).unref()
  }
  child.on('error', fail)
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of FORWARDED) process.removeAllListeners(name)
    process.kill(process.pid, signal)
    // If this process survives the signal, it reports it as a shell does.
    setTimeout(() => process.exit(128 + (system.signals[signal] ?? 0)), 1000)
  })
}

function fail(error) {
  console.error(`error: cannot run pegboard: ${error.message}`)
  process.exit(1)
}

try {
  const program = programPath()
  const args = process.argv.slice(2)
  if (!isStartedByNpx()) replace(program, args)
  run(program, args)
} catch (error) {
  fail(error)
}
