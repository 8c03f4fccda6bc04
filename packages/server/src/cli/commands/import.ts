import { openClock } from '../../process/clock.ts'
import { type Arguments, type CliCommand, jsonFlag, printJson, printLine, printNote, UsageError } from '../command.ts'
import { choosePlace, placeFlags } from '../place.ts'
import { dbFlag, optionalName, tableFlag } from '../table-flags.ts'
import { LineImporter } from '../transfer/import-lines.ts'
import { type ImportProgress, ImportState } from '../transfer/import-state.ts'
import { type ImportTarget, openServerTarget, openStoreTarget } from '../transfer/import-target.ts'
import { Progress, showCount, showRate } from '../transfer/progress.ts'
import { type LineReader, readLines } from '../transfer/read-lines.ts'

const saveEveryMs = 1_000
/** Patient enough to outlast a restart of the server. */
const attemptsMax = 14

export const importCommand: CliCommand = {
  name: 'import',
  positionals: ['FILE'],
  summary: 'put the records of an export, or of other lines of JSON, into tables',
  details: `FILE may be packed with gzip; - is standard input. Tables that are missing are made from the lines that
declare them. A line whose ttl has passed is skipped and counted. A line that is refused is reported and
the rest goes on; the exit code is then 1.
With --data or --store it writes into the store itself and keeps updatedAt; no server may run on the
data directory meanwhile. Over HTTP every record counts as written now.`,
  flags: {
    db: { ...dbFlag, help: 'into this database, whatever the lines say' },
    table: { ...tableFlag, help: 'into this table, whatever the lines say' },
    strict: { type: 'boolean', help: 'stop at the first line that is refused' },
    resume: { type: 'boolean', help: 'go on where an interrupted import of FILE ended' },
    'from-line': { type: 'string', value: 'N', help: 'begin at this line, counted from 1' },
    ...placeFlags,
    json: { ...jsonFlag, help: 'print the summary as JSON' },
  },
  async run(args) {
    const file = args.positionals[0]!
    const place = choosePlace(args, attemptsMax)
    const names = { db: optionalName(args, 'db'), table: optionalName(args, 'table') }
    const begin = parseFromLine(args)
    if (args.flag('resume') && file === '-') {
      throw new UsageError('--resume needs a file; for standard input give --from-line N')
    }
    if (args.flag('resume') && begin > 1) throw new UsageError('--resume and --from-line exclude each other')
    const reader = readLines(file)
    const target =
      place.kind === 'store' ? await openStoreTarget(place.location, place.org) : openServerTarget(place.remote)
    try {
      const into = [target.description, ...Object.values(names).filter((name) => name !== undefined)].join(', ')
      const state = file === '-' ? undefined : new ImportState(file, into)
      const earlier = args.flag('resume') ? state!.load() : undefined
      const fromLine = earlier === undefined ? begin : earlier.line + 1
      const strict = args.flag('strict')
      return await new Import({ file, reader, target, state, earlier, ...names, fromLine, strict }).run(
        args.flag('json'),
      )
    } finally {
      await target.close()
    }
  },
}

const parseFromLine = (args: Arguments): number => {
  const text = args.text('from-line')
  if (text === undefined) return 1
  const line = Number(text)
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(line) && line >= 1) return line
  throw new UsageError(`--from-line is "${text}"; it takes the number of a line, from 1`)
}

interface ImportJob {
  file: string
  reader: LineReader
  target: ImportTarget
  /** Where the progress is kept; standard input has no place for it. */
  state: ImportState | undefined
  earlier: ImportProgress | undefined
  db: string | undefined
  table: string | undefined
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
    const { db, table, fromLine } = job
    const { now } = openClock(process.env)
    const onRefused = (line: number, reason: string): void => {
      this.#progress.say(`line ${line}: ${reason}`)
      if (job.strict) this.#end('strict')
    }
    const onNote = (line: number, note: string): void => this.#progress.say(`line ${line}: ${note}`)
    this.#job = job
    this.#importer = new LineImporter(job.target, { db, table, fromLine, now, onRefused, onNote }, job.earlier)
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
      this.#tellHowToGoOn()
      throw error
    } finally {
      clearInterval(saving)
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
      this.#progress.clear()
    }
    if (this.#ending === 'end of file') this.#job.state?.remove()
    else this.#tellHowToGoOn()
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

  /** Without those of the import that this one goes on with. */
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
  }

  /** Only what is new: lines that are skipped were settled by an earlier import. */
  #save(): ImportProgress | undefined {
    const progress = this.#importer.progress()
    if (progress.line < this.#job.fromLine) return undefined
    this.#job.state?.save(progress)
    return progress
  }

  #tellHowToGoOn(): void {
    const { file, state } = this.#job
    const progress = this.#save()
    if (progress === undefined) return
    if (this.#ending === 'strict') {
      // Mended, the file is another one, and --resume would refuse it.
      printNote(`stopped at line ${progress.line}; mend it, then go on with --from-line ${progress.line}`)
      return
    }
    const how = state?.kept === true ? '--resume' : `--from-line ${progress.line + 1}`
    printNote(`stopped after line ${progress.line} of ${file}; go on with ${how}`)
  }
}
