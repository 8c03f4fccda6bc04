import { existsSync } from 'node:fs'

// The browser of the tests, which the machine has or has not: where it has none, they say so and are skipped.

/** The shell without a user interface does the same in half the time. */
const candidates = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Undefined if there is no Chromium; then it prints what is skipped. */
export const findChromium = (what?: string): string | undefined => {
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
