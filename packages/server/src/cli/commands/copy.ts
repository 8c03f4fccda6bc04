import { OperatorError } from '../../core/operator-error.ts'
import { findStore, type StoreLocation } from '../../engines/open-engine.ts'
import { compareStores, copyStore } from '../../operations/transfer/copy-store.ts'
import type { ClosedStore } from '../../store/closed-store.ts'
import type { Engine } from '../../store/engine.ts'
import { type Arguments, givenAs, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine } from '../print.ts'
import { Progress, showRate } from '../transfer/progress.ts'

const parseLocation = (args: Arguments, flag: 'from' | 'to'): StoreLocation => {
  const text = args.text(flag)
  if (text === undefined) throw new UsageError(`--${flag} is missing; it takes a data directory or a postgres:// URL`)
  return /^[a-z]+:\/\//i.test(text)
    ? { data: '', store: text, storeGivenAs: givenAs(args, flag) }
    : { data: text, store: undefined }
}

const refuseFilled = async (engine: Engine, store: ClosedStore): Promise<void> => {
  if ((await engine.organizations.list()).length === 0) return
  throw new OperatorError(`the store at ${store.describe()} is not empty; --resume continues an interrupted copy`)
}

export const copyCommand: CliCommand = {
  name: 'copy',
  summary: 'copy a whole store into another one; each may be embedded or PostgreSQL',
  details: `Copies organizations, API keys, tables (deleted ones too) and records with their versions and times, from one
snapshot of the source, and then compares both stores. API keys and cursors keep working. The copy does not
contain what is written to the source after it began: stop the source's servers first.`,
  flags: {
    from: { type: 'string', value: 'STORE', help: 'a data directory or postgres://user:password@host/db' },
    to: { type: 'string', value: 'STORE', help: 'the same; this store must be empty' },
    resume: { type: 'boolean', help: 'continue an interrupted copy; the store may hold part of it' },
    json: jsonFlag,
  },
  async run(args) {
    const [from, to] = [parseLocation(args, 'from'), parseLocation(args, 'to')]
    const [sourceStore, targetStore] = [await findStore(from), await findStore(to)]
    const progress = new Progress()
    const source = await sourceStore.open({ role: 'guest', mustExist: true })
    try {
      const target = await targetStore.open({ role: 'owner' })
      try {
        if (!args.flag('resume')) await refuseFilled(target, targetStore)
        return await copyAndCompare(source, target, progress, args.flag('json'))
      } finally {
        await target.close()
      }
    } finally {
      progress.clear()
      await source.close()
    }
  },
}

const copyAndCompare = async (source: Engine, target: Engine, progress: Progress, json: boolean): Promise<number> => {
  const dump = await source.transfer.openDump()
  try {
    let all = 0
    for await (const table of dump.tables()) all += await dump.countRecords(table.id)
    progress.begin()
    const records = await copyStore(dump, target, (copied) => progress.show(copied, () => copied / Math.max(1, all)))
    progress.clear()
    const copiedMs = progress.elapsedMs
    const copy = await target.transfer.openDump()
    const differences: string[] = []
    for await (const difference of compareStores(dump, copy)) differences.push(difference)
    await copy.close()
    if (json) printJson({ ok: differences.length === 0, records, differences })
    else {
      printLine(`copied ${showRate(records, copiedMs)}`)
      for (const difference of differences) printLine(difference)
      if (differences.length === 0) printLine('compared: the two stores are equal')
    }
    return differences.length === 0 ? 0 : 1
  } finally {
    await dump.close()
  }
}
