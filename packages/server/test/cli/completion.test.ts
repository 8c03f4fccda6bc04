import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commands } from '../../src/cli/run.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { runHere } from './run-here.ts'

// The scripts are run by their shells, as far as these are installed. A shell that completes nothing, or a script that is
// wrong in one branch of many, would be noticed by users only.

setDefaultTimeout(120_000)

let dir: string
beforeAll(async () => {
  dir = makeTempDir()
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { exitCode, stdout, stderr } = await runHere(['completion', shell])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    writeFileSync(join(dir, `script.${shell}`), stdout)
  }
})
afterAll(() => removeTempDir(dir))

const quoted = (words: string[]): string => words.map((word) => `'${word}'`).join(' ')

/** Runs a program of the shell; for each call it prints the proposals on one line. */
const linesOf = async (command: string[], program: string): Promise<string[][]> => {
  const child = Bun.spawn(command, { cwd: dir, stdin: new Blob([program]), stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect(stderr).toBe('')
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter(Boolean).sort())
}

/** The proposals of each shell for the last of these words, which follow `cubby`. */
const propose: Record<string, (calls: string[][]) => Promise<string[][]>> = {
  bash: (calls) =>
    linesOf(['bash', '--noprofile', '--norc', '-s'], ['source ./script.bash', ...calls.map(bashCall), ''].join('\n')),
  // Without a terminal zsh completes nothing: the two functions that would show the proposals print them.
  zsh: (calls) => linesOf(['zsh', '-f', '-s'], [zshStart, ...calls.map(zshCall), ''].join('\n')),
  fish: (calls) => linesOf(['fish', '--no-config'], ['source ./script.fish', ...calls.map(fishCall), ''].join('\n')),
}

const bashCall = (words: string[]): string =>
  `COMP_WORDS=(cubby ${quoted(words)}); COMP_CWORD=${words.length}; COMPREPLY=(); _cubby; echo "\${COMPREPLY[@]}"`

const zshStart = `compdef() {}
_files() { print ./script.* }
_describe() {
  local choice
  for choice in "\${(@P)2}"; do [[ $choice == \${words[CURRENT]}* ]] && print -n -- "\${choice%%:*} "; done
  print
}
source ./script.zsh`

const zshCall = (words: string[]): string => `words=(cubby ${quoted(words)}); CURRENT=${words.length + 1}; _cubby`

const fishCall = (words: string[]): string =>
  `echo (complete -C 'cubby ${words.join(' ')}' | string replace -r '\\t.*' '')`

const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0]!))].sort()
const flagsOf = (called: string): string[] =>
  Object.keys(commands.find(({ name }) => name === called)!.flags)
    .map((flag) => `--${flag}`)
    .sort()

describe.each(Object.keys(propose))('%s', (shell) => {
  const isThere = Bun.which(shell) !== null

  test.skipIf(!isThere)('completes the words of commands', async () => {
    const [all, begun, second, none] = await propose[shell]!([[''], ['ta'], ['orgs', ''], ['nothing', 'x']])
    expect(all).toEqual(firstWords)
    expect(begun).toEqual(['table', 'tasks'])
    expect(second).toEqual(['create', 'delete', 'export', 'list', 'restore'])
    expect(none).toEqual([])
  })

  test.skipIf(!isThere)('completes the flags of every command, and no others', async () => {
    const names = commands.map(({ name }) => name).filter((name) => flagsOf(name).length > 0)
    const proposed = await propose[shell]!(names.map((name) => [...name.split(' '), '--']))
    expect(proposed).toEqual(names.map(flagsOf))
    expect(await propose[shell]!([['get', 'ada', '--table', 'orders', '--d']])).toEqual([['--db']])
  })

  test.skipIf(!isThere)('leaves the value of a flag, and the file that a command takes, to the shell', async () => {
    // No proposal means the files in bash: `complete -o default`.
    const files = shell === 'bash' ? [] : ['./script.bash', './script.fish', './script.zsh']
    expect(
      await propose[shell]!([
        ['serve', '--data', './s'],
        ['import', './s'],
      ]),
    ).toEqual([files, files])
  })
})
