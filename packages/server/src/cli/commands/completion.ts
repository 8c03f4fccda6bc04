import { shellWord } from '../../core/text/shell-word.ts'
import type { CliCommand } from '../command.ts'
import { printLine } from '../print.ts'

// Scripts with which a shell completes commands and their flags, made from the list of commands. That list contains these
// commands too, so it is passed in.

/** The words that may follow `after`: the other words of commands, or the flags of one command. */
interface Choices {
  after: string[]
  areFlags: boolean
  /** Each with its summary. */
  words: Map<string, string>
}

const choicesOf = (commands: CliCommand[]): Choices[] => {
  const first: Choices = { after: [], areFlags: false, words: new Map() }
  const groups = new Map<string, Choices>()
  const flags: Choices[] = []
  for (const command of commands) {
    const [word, second] = command.name.split(' ') as [string, string?]
    first.words.set(word, second === undefined ? command.summary : `see cubby ${word} --help`)
    if (second !== undefined) {
      const group = groups.get(word) ?? { after: [word], areFlags: false, words: new Map() }
      groups.set(word, group)
      group.words.set(second, command.summary)
    }
    const words = new Map(Object.entries(command.flags).map(([flag, { help }]) => [`--${flag}`, help]))
    if (words.size > 0) flags.push({ after: command.name.split(' '), areFlags: true, words })
  }
  return [first, ...groups.values(), ...flags]
}

/** Returns the flags that a value follows, for which a shell proposes files. */
const valueFlags = (commands: CliCommand[]): string => {
  const flags = commands.flatMap((command) => Object.entries(command.flags))
  return [...new Set(flags.filter(([, { type }]) => type === 'string').map(([flag]) => `--${flag}`))].join('|')
}

/** The branches of `case "NUMBER:FIRST SECOND"`: the number of the word at the cursor, and the first two words. */
const branches = (commands: CliCommand[], write: (words: Choices['words']) => string): string =>
  choicesOf(commands)
    .map(({ after, areFlags, words }) => {
      const known = after.length === 2 ? after.join('\\ ') : after.map((word) => `${word}\\ *`).join('')
      return `    ${areFlags ? '*' : after.length + 1}:${known || '*'}) candidates=${write(words)} ;;\n`
    })
    .join('')

const bash = (commands: CliCommand[]): string => `# source <(cubby completion bash)
_cubby() {
  local current=\${COMP_WORDS[COMP_CWORD]} candidates=
  case \${COMP_WORDS[COMP_CWORD-1]} in
    ${valueFlags(commands)}) return ;;
  esac
  case "$COMP_CWORD:\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${branches(commands, (words) => `'${[...words.keys()].join(' ')}'`)}  esac
  [[ $candidates != --* || $current == -* ]] || return
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _cubby cubby cubbydb`

const zsh = (commands: CliCommand[]): string => `#compdef cubby cubbydb
# source <(cubby completion zsh), after compinit
_cubby() {
  local -a candidates
  case \${words[CURRENT-1]} in
    ${valueFlags(commands)}) _files; return ;;
  esac
  case "$((CURRENT - 1)):\${words[2]} \${words[3]}" in
${branches(commands, (words) => `(${Array.from(words, (choice) => shellWord(choice.join(':'))).join(' ')})`)}  esac
  if [[ \${candidates[1]} == --* && \${words[CURRENT]} != -* ]]; then
    _files
  else
    _describe cubby candidates
  fi
}
compdef _cubby cubby cubbydb`

/** fish takes the flags of a command one by one, and adds the proposals of all lines whose condition is true. */
const fish = (commands: CliCommand[]): string => {
  const lines = choicesOf(commands).flatMap(({ after, areFlags, words }) => {
    const condition = `-n '${[areFlags ? '__cubby_in' : '__cubby_after', ...after].join(' ')}'`
    const { flags } = commands.find(({ name }) => name === after.join(' ')) ?? {}
    return Array.from(words, ([word, summary]) => {
      const needsValue = flags?.[word.slice(2)]?.type === 'string' ? ' -r' : ''
      const what = areFlags ? `-l ${word.slice(2)}${needsValue}` : `-f -a ${word}`
      return `complete -c cubby ${condition} ${what} -d ${fishWord(summary)}`
    })
  })
  return `# cubby completion fish | source
function __cubby_after
  set -l words (commandline -opc)
  test "$words[2..]" = "$argv"
end
function __cubby_in
  set -l words (commandline -opc) ''
  test (count $words) -gt (count $argv)
  and test "$words[2..$(math (count $argv) + 1)]" = "$argv"
end
${lines.join('\n')}
complete -c cubbydb -w cubby`
}

const fishWord = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

const scripts = { bash, zsh, fish }

/** `commands` is called when a script is printed. */
export const completionCommands = (commands: () => CliCommand[]): CliCommand[] =>
  (['bash', 'zsh', 'fish'] as const).map((shell) => ({
    name: `completion ${shell}`,
    summary: `print a script that completes commands and flags in ${shell}`,
    example: shell === 'fish' ? 'cubby completion fish | source' : `source <(cubby completion ${shell})`,
    flags: {},
    async run() {
      for (const line of scripts[shell](commands()).split('\n')) printLine(line)
      return 0
    },
  }))
