import { expect } from 'bun:test'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { cubbyCommand } from '../harness.ts'

// Runs the commands of a page as a reader would paste them, and compares their output with the page.

interface Block {
  language: string
  text: string
  /** `docs/data-tools.md:12`, for error messages. */
  at: string
}

const blocksOf = (path: string): Block[] => {
  const page = readFileSync(path, 'utf8')
  return Array.from(page.matchAll(/^```(\w*)\n(.*?)^```$/gms), (match) => ({
    language: match[1]!,
    text: match[2]!,
    at: `${path}:${page.slice(0, match.index).split('\n').length}`,
  }))
}

/** `…` matches any text within its line, a time in milliseconds matches any time. */
const pattern = (shown: string): RegExp => {
  const parts = shown.split(/(…|\b\d{13}\b)/).map((part) => {
    if (part === '…') return '[^\\n]*?'
    return /^\d{13}$/.test(part) ? '\\d{13}' : part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`)
}

/** A folder for PATH with the commands that a page calls by name. */
export const makeCommands = (dir: string): string => {
  mkdirSync(dir, { recursive: true })
  const write = (name: string, script: string): void => {
    writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(dir, name), 0o755)
  }
  write(
    'cubby',
    `exec ${cubbyCommand()
      .map((word) => `'${word}'`)
      .join(' ')} "$@"`,
  )
  // `npx cubbydb …` finds the command of the repository; here it is this one.
  write('cubbydb', 'exec cubby "$@"')
  write('npx', 'exec "$@"')
  // Pages that say `npm run build` are run where the client is built already.
  write('npm', 'exit 0')
  return dir
}

export interface ShellOptions {
  cwd: string
  /** The directory of makeCommands. */
  commands: string
  env: Record<string, string>
  /** Blocks that a test runs by itself: a server that stays. */
  skip?: (text: string) => boolean
}

/** Runs the `sh` blocks of a page in one shell and compares each `text` block with what the one before it printed. */
export const runShellBlocks = async (path: string, { cwd, commands, env, skip }: ShellOptions): Promise<number> => {
  const blocks = blocksOf(path)
  const pasted = blocks.filter(({ language, text }) => language === 'sh' && skip?.(text) !== true)
  const mark = `--- ${crypto.randomUUID()} ---`
  const script = pasted.map(({ text }) => `${text}\nprintf '%s' '${mark}'\n`).join('')
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', `exec 2>&1\n${script}`], {
    cwd,
    env: { HOME: cwd, ...env, PATH: [commands, process.env.PATH].join(delimiter) },
    stdin: 'ignore',
    stdout: 'pipe',
  })
  const outputs = (await new Response(child.stdout).text()).split(mark)
  const failed = pasted[outputs.length - 1]
  const exitCode = await child.exited
  expect({ exitCode, at: failed?.at, said: failed && outputs.at(-1) }).toEqual({
    ...{ exitCode: 0, at: undefined, said: undefined },
  })
  pasted.forEach((block, i) => {
    const next = blocks[blocks.indexOf(block) + 1]
    if (next?.language !== 'text') return
    const came = `${next.at}\n${outputs[i]}`
    expect(came).toMatch(pattern(`${next.at}\n${next.text}`))
  })
  return pasted.length
}
