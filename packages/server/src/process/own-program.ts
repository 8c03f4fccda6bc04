import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

// This file knows where the program is. It runs in three layouts, and this file is the only one that tells them apart:
//
//   source   Bun runs src/main.ts
//   package  Bun runs dist/main.js (build.ts): all files in one folder
//   binary   the same files inside of one executable, which is Bun as well (scripts/build-binary.ts)
//
// A thread needs no case of its own. Its URL is relative to the file that starts it, which is right in the source; the build
// rewrites it for the one folder, which the binary keeps. The URL is absolute in all three layouts: with a relative path a
// binary would look in the working directory too.

/** The words that start this program a second time, before its arguments. */
export const ownCommand = (): string[] =>
  Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main]

/**
 * The words that a person types to run it, for texts: `cubby` for the binary, and if the command of that name on the PATH is
 * this program. Below npm and npx the PATH begins with the commands of the project.
 */
export const typedCommand = (): string => {
  if (Bun.isStandaloneExecutable) return 'cubby'
  const installed = process.env.npm_command === undefined ? Bun.which('cubby') : null
  const isThis = installed !== null && realpathSync(installed) === join(realpathSync(dirname(Bun.main)), '../bin/cubby')
  return isThis ? 'cubby' : 'npx cubbydb'
}
