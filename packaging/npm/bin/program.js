// Finds the program that the package of this platform contains.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** The name of the package that contains the program for this platform. */
export const platformPackage = `@pegboard/${process.platform}-${process.arch}`

/**
 * Returns the absolute path of the program.
 *
 * Throws if the package of this platform is not installed; the message says what to do.
 */
export function programPath() {
  try {
    return require.resolve(`${platformPackage}/bin/pegboard`)
  } catch (cause) {
    const known = Object.keys(require('../package.json').optionalDependencies)
    throw new Error(known.includes(platformPackage) && !isMusl() ? missing() : unsupported(known), { cause })
  }
}

/** Whether this is a Linux without the GNU C library, for which there are no packages. */
function isMusl() {
  return process.platform === 'linux' && process.report?.getReport().header.glibcVersionRuntime === undefined
}

function missing() {
  return (
    `the package \`${platformPackage}\` with the program for this platform is not installed. ` +
    'Install again without `--omit=optional` and `--no-optional`, and on this platform: ' +
    '`node_modules` copied from another one does not contain it.'
  )
}

function unsupported(known) {
  const platforms = known.map((name) => name.replace('@pegboard/', '')).join(', ')
  const here = `${process.platform}-${process.arch}${isMusl() ? ' with musl' : ''}`
  return (
    `there is no package for ${here}, only for ${platforms}. ` +
    'Build the program from source; docs/install.md describes it.'
  )
}
