import { findChromium } from '../../client/test/chromium.ts'
import { whyNoTrace } from './crash/trace.ts'

// Programs that tests use and a machine may not have. What needs a missing one is skipped; `npm run test:all` names it at its
// end, and fails if CUBBY_TEST_REQUIRE lists it.

const isHere: Record<string, () => boolean> = {
  chromium: () => findChromium(undefined, true) !== undefined,
  'chromium-headless-shell': () => Bun.which('chromium-headless-shell') !== null,
  gcc: () => Bun.which('cc') !== null,
  strace: () => whyNoTrace() === undefined,
  pgbouncer: () => findPgBouncer() !== null,
  python3: () => Bun.which('python3') !== null,
  curl: () => Bun.which('curl') !== null,
  unshare: () => Bun.which('unshare') !== null,
}

/** Debian installs it for the administrator. */
export const findPgBouncer = (): string | null =>
  Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` })

/** `required`: those among the missing that must be there, and names that no test knows. */
export const missingTools = (): { missing: string[]; required: string[] } => {
  const missing = Object.keys(isHere).filter((name) => !isHere[name]!())
  const named = (process.env.CUBBY_TEST_REQUIRE ?? '').split(',').filter((name) => name !== '')
  return { missing, required: named.filter((name) => missing.includes(name) || isHere[name] === undefined) }
}
