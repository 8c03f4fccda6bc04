import { existsSync } from 'node:fs'

// The browser of the tests, which the machine has or has not: where it has none, they say so and are skipped.

const browsers = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Chromium without a user interface does the same in half the time, but shows no PDF. */
const shell = '/usr/bin/chromium-headless-shell'

/** Undefined if there is no Chromium; then it prints what is skipped. `isWhole`: not the shell. */
export const findChromium = (what?: string, isWhole = false): string | undefined => {
  const candidates = isWhole || process.env.CHROMIUM_PATH ? browsers : [shell, ...browsers]
  const path = candidates.find((candidate) => candidate !== undefined && candidate !== '' && existsSync(candidate))
  if (path === undefined && what !== undefined) {
    console.warn(`SKIPPED: ${what}. No Chromium was found; set CHROMIUM_PATH or install one.`)
  }
  return path
}

/** Headless, and without network requests other than those of the test. */
export const chromiumFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
