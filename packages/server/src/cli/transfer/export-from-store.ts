import { OperatorError } from '../../core/operator-error.ts'
import { hasFilesInBlobStore } from '../../operations/transfer/copy-files.ts'
import { openClock } from '../../process/clock.ts'
import type { BlobStore } from '../../store/blob-store.ts'
import type { Engine } from '../../store/engine.ts'
import { holdingSweep } from '../../store/hold-sweep.ts'
import type { Dump, DumpedOrganization } from '../../store/transfer.ts'
import type { Arguments } from '../arguments.ts'
import { blobStoreUrlAt, openBlobStoreOf } from '../target/blob-store.ts'
import { noOrganization, restorableUntil } from '../target/organization.ts'
import { storeLocation } from '../target/store.ts'
import { type ExportedRows, exportOrganization } from './export-organization.ts'
import { writeFileBytes } from './file-bytes.ts'
import { Progress } from './progress.ts'

/**
 * Everything of the organization, in one snapshot of the store. The bytes of its files stay where they are until the end,
 * also of those that are replaced or removed meanwhile.
 */
export const exportFromStore = (args: Arguments, engine: Engine, name: string, dir: string): Promise<ExportedRows> =>
  holdingSweep(engine, async () => {
    const progress = new Progress()
    const dump = await engine.transfer.openDump()
    let blobStore: BlobStore | undefined
    try {
      const organization = (await dump.organizations()).find((one) => one.name === name)
      if (organization === undefined) throw noOrganization(name)
      refusePurging(organization)
      const withBytes = !args.flag('without-files')
      if (withBytes) blobStore = await blobStoreFor(args, engine, dump)
      return await exportOrganization({
        ...{ dump, organization, dir, nowMs: openClock(process.env).now() },
        writeBytes: withBytes ? writeFileBytes(dump, blobStore) : undefined,
        onProgress: (rows) => progress.show(rows, () => undefined),
      })
    } finally {
      progress.clear()
      await blobStore?.close()
      await dump.close()
    }
  })

/** A part of it must not be taken for the whole. */
const refusePurging = (organization: DumpedOrganization): void => {
  if (!organization.purging) return
  const until = restorableUntil(organization)
  throw new OperatorError(`${organization.name} could be restored until ${until}; some of it is removed already`)
}

const blobStoreFor = async (args: Arguments, engine: Engine, dump: Dump): Promise<BlobStore | undefined> => {
  if (!(await hasFilesInBlobStore(dump))) return undefined
  const value = blobStoreUrlAt(storeLocation(args), args.text('files'))
  if (value !== undefined) return openBlobStoreOf(engine, value)
  throw new OperatorError(
    'the store has files: give the place of their bytes with --files, or leave them out with --without-files',
  )
}
