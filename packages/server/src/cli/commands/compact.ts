import { jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printNote } from '../print.ts'
import { findTargetStore, storeFlags } from '../target/store.ts'
import { withProgress } from '../transfer/progress.ts'
import { showMegabytes } from '../transfer/progress-line.ts'

export const compactCommand: CliCommand = {
  name: 'compact',
  summary: 'make the files of a store as small as they can be',
  details: `The server must be stopped. Writes the store anew, without free or half-empty pages, and checks it
before and after. A server gives free pages back while it runs; half-empty pages, which scattered deletes
leave, only this command removes. A store of an older version also gets the setting with which a server gives
pages back. Needs room beside the store, and says how much before it begins. It may be killed at any moment:
the store is then as it was, or compacted.`,
  example: 'cubby compact --data ./cubby-data',
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const store = await findTargetStore(args)
    const { bytesBefore, bytesAfter, isShort } = await withProgress((progress) =>
      store.compact(
        ({ neededBytes, freeBytes }) =>
          progress.say(
            `cubby: needs up to ${showMegabytes(neededBytes)} of room meanwhile; ${showMegabytes(freeBytes)} are free`,
          ),
        progress,
      ),
    )
    const data = store.describe()
    if (args.flag('json')) printLine(JSON.stringify({ data, bytesBefore, bytesAfter }))
    else
      printLine(`compacted ${data}: ${showMegabytes(bytesBefore)} before, ${showMegabytes(bytesAfter)} now, verified`)
    if (!isShort) printNote('cubby: another command reads the store; its files get smaller when the server runs again')
    return 0
  },
}
