import { OperatorError } from '../../core/operator-error.ts'
import { openClock } from '../../process/clock.ts'
import { type Arguments, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine, printNote } from '../print.ts'
import { dbFlag, optionalName, tableFlag } from '../target/address.ts'
import { chooseTarget, targetFlags } from '../target/target.ts'
import type { KeyFields } from '../transfer/foreign.ts'
import { formatFlags, openLines, parseFormat } from '../transfer/import-format.ts'
import { LineImporter } from '../transfer/import-lines.ts'
import { type ImportProgress, ImportState } from '../transfer/import-state.ts'
import { type ImportTarget, openServerTarget, openStoreTarget } from '../transfer/import-target.ts'
import { Progress } from '../transfer/progress.ts'
import { showCount, showRate } from '../transfer/progress-line.ts'
import type { LineReader } from '../transfer/read-lines.ts'

const saveEveryMs = 1_000
/** So many attempts outlast a restart of the server. */
const attemptsMax = 14

export const importCommand: CliCommand = {
  name: 'import',
  positionals: ['FILE'],
  summary: 'import records from an export, from other JSON lines or from CSV',
  details: `FILE may be compressed with gzip; - is standard input. Missing tables are created from the lines that declare
them. A line whose ttl has passed is skipped and counted. A rejected line is reported and the import
continues; the exit code is then 1.
With --data or --store it writes into the store itself and keeps updatedAt; no server may run on the data
directory at that time. Through a server, updatedAt is the time of the import.
With --hash-key the lines are those of another program: each is a JSON object, or a line of CSV below a
header, and becomes the data of a record in the table --db, --table, which must exist. The key fields stay in
the data. A number as a key is used as it is written. Cells of CSV are strings, and empty cells are left out.
Only records of tables are imported. For the files of buckets see cubby copy and cubby files.`,
  example: 'cubby import people.csv --db app --table people --format csv --hash-key email',
  flags: {
    db: { ...dbFlag, help: 'import into this database instead of those in the lines' },
    table: { ...tableFlag, help: 'import into this table instead of those in the lines' },
    ...formatFlags,
    strict: { type: 'boolean', help: 'stop at the first rejected line' },
    resume: { type: 'boolean', help: 'continue an interrupted import of FILE' },
    'from-line': { type: 'string', value: 'N', help: 'start at this line, counted from 1' },
    ...targetFlags,
    json: { ...jsonFlag, help: 'print the summary as JSON' },
  },
  async run(args) {
    const file = args.positionals[0]!
    const chosen = chooseTarget(args, attemptsMax)
    const names = { db: optionalName(args, 'db'), table: optionalName(args, 'table') }
    const format = parseFormat(args, file)
    const begin = parseFromLine(args)
    if (args.flag('resume') && file === '-') {
      throw new UsageError('--resume needs a file; with standard input use --from-line N')
    }
    if (args.flag('resume') && begin > 1) throw new UsageError('--resume and --from-line cannot be combined')
    const reader = await openLines(file, format)
    const target =
      chosen.kind === 'store' ? await openStoreTarget(chosen.location, chosen.org) : openServerTarget(chosen.remote)
    try {
      const { foreign, description } = format
      if (foreign !== undefined) await requireTable(target, names.db!, names.table!)
      const known = Object.values(names).filter((name) => name !== undefined)
      const into = [target.description, ...known, ...description].join(', ')
      const state = file === '-' ? undefined : new ImportState(file, into)
      const earlier = args.flag('resume') ? state!.load() : undefined
      const fromLine = earlier === undefined ? begin : earlier.line + 1
      const strict = args.flag('strict')
      const isCsv = format.csv !== undefined
      const job = { file, reader, target, state, earlier, ...names, foreign, isCsv, fromLine, strict }
      return await new Import(job).run(args.flag('json'))
    } finally {
      await target.close()
    }
  },
}

/** Lines of other programs declare no table. Without this, each line would be rejected, after the whole file was read. */
const requireTable = async (target: ImportTarget, db: string, table: string): Promise<void> => {
  if ((await target.findTable(db, table)) !== undefined) return
  throw new OperatorError(`there is no table ${db}/${table}. Create it: cubby table create ${table} --db ${db}`)
}

const parseFromLine = (args: Arguments): number => {
  const text = args.text('from-line')
  if (text === undefined) return 1
  const line = Number(text)
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(line) && line >= 1) return line
  throw new UsageError(`--from-line is "${text}"; it takes a line number, 1 or more`)
}

/** Explains a file of JSON lines of which no line was accepted: most likely it is something else. */
const otherFormats = (isForeign: boolean): string =>
  isForeign
    ? "no line was accepted. Each takes a JSON object of its own; jq -c '.[]' makes such lines of an array. For CSV give --format csv"
    : 'no line was accepted. If the lines are not of an export, give --hash-key FIELD; if they are CSV, --format csv too'

interface ImportJob {
  file: string
  reader: LineReader
  target: ImportTarget
  /** The saved progress; undefined for standard input. */
  state: ImportState | undefined
  earlier: ImportProgress | undefined
  db: string | undefined
  table: string | undefined
  foreign: KeyFields | undefined
  isCsv: boolean
  fromLine: number
  strict: boolean
}

type Ending = 'end of file' | 'strict' | 'SIGINT' | 'SIGTERM'

class Import {
  readonly #job: ImportJob
  readonly #importer: LineImporter
  readonly #progress = new Progress()
  #ending: Ending = 'end of file'

  constructor(job: ImportJob) {
    const { db, table, foreign, fromLine } = job
    const { now } = openClock(process.env)
    const onRefused = (line: number, reason: string): void => {
      this.#progress.say(`line ${line}: ${reason}`)
      if (job.strict) this.#end('strict')
    }
    const onNote = (line: number, note: string): void => this.#progress.say(`line ${line}: ${note}`)
    this.#job = job
    this.#importer = new LineImporter(job.target, { db, table, foreign, fromLine, now, onRefused, onNote }, job.earlier)
  }

  /** The exit code. */
  async run(json: boolean): Promise<number> {
    const onSignal = (signal: NodeJS.Signals): void => this.#end(signal as Ending)
    process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
    const saving = setInterval(() => this.#save(), saveEveryMs)
    try {
      await this.#takeLines()
      await this.#importer.finish()
    } catch (error) {
      await this.#importer.drain()
      this.#progress.clear()
      this.#tellHowToContinue()
      throw error
    } finally {
      clearInterval(saving)
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
      this.#progress.clear()
    }
    if (this.#ending === 'end of file') this.#job.state?.remove()
    else this.#tellHowToContinue()
    this.#summarize(json)
    if (this.#ending === 'SIGINT' || this.#ending === 'SIGTERM') return this.#ending === 'SIGINT' ? 130 : 143
    return this.#importer.refused === 0 ? 0 : 1
  }

  #end(ending: Ending): void {
    if (this.#ending === 'end of file') this.#ending = ending
    this.#job.reader.stop()
  }

  async #takeLines(): Promise<void> {
    const { reader, fromLine } = this.#job
    let line = 0
    for await (const block of reader.blocks()) {
      for (const text of block) {
        if (++line === fromLine && line > 1) this.#progress.begin(reader.fraction())
        await this.#importer.take(text)
        if (this.#ending !== 'end of file') return
      }
      this.#progress.show(this.#recordsNow(), () => reader.fraction())
    }
  }

  /** Counts the records without those of the earlier import that this one continues. */
  #recordsNow(): number {
    return this.#importer.records - (this.#job.earlier?.records ?? 0)
  }

  #summarize(json: boolean): void {
    const { records, unchanged, expired, refused, line } = this.#importer.progress()
    const { elapsedMs } = this.#progress
    if (json) {
      const complete = this.#ending === 'end of file'
      printJson({ complete, lines: line, records, unchanged, expired, refused, elapsedMs: Math.round(elapsedMs) })
      return
    }
    const { earlier } = this.#job
    const before = earlier === undefined ? '' : ` (and ${showCount(earlier.records)} before)`
    const same = unchanged === 0 ? '' : `; ${showCount(unchanged)} were there already`
    const gone = expired === 0 ? '' : `; ${showCount(expired, 'line')} expired`
    const bad = refused === 0 ? '' : `; ${showCount(refused, 'line')} refused`
    printLine(`imported ${showRate(this.#recordsNow(), elapsedMs)}${before}${same}${gone}${bad}`)
    if (records === 0 && refused > 0 && !this.#job.isCsv) printNote(otherFormats(this.#job.foreign !== undefined))
  }

  /** Saves only the progress of this import: an earlier one has finished the skipped lines. */
  #save(): ImportProgress | undefined {
    const progress = this.#importer.progress()
    if (progress.line < this.#job.fromLine) return undefined
    this.#job.state?.save(progress)
    return progress
  }

  #tellHowToContinue(): void {
    const { file, state } = this.#job
    const progress = this.#save()
    if (progress === undefined) return
    if (this.#ending === 'strict') {
      // A fixed file has changed, and --resume would reject it.
      printNote(`stopped at line ${progress.line}; fix it, then continue with --from-line ${progress.line}`)
      return
    }
    const how = state?.kept === true ? '--resume' : `--from-line ${progress.line + 1}`
    printNote(`stopped after line ${progress.line} of ${file}; continue with ${how}`)
  }
}
