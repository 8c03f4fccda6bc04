import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Connection } from '../../engines/sqlite/connection.ts'
import { damagedStore, isDamage } from '../../engines/sqlite/disk/damage.ts'
import { makeDataDir } from '../../engines/sqlite/disk/store-files.ts'
import { holdStore } from '../../engines/sqlite/disk/store-lock.ts'
import { checkStore } from '../../engines/sqlite/maintenance/check.ts'
import { schemaVersion } from '../../engines/sqlite/migrations/schema.ts'
import {
  type Arguments,
  type CliCommand,
  CommandFailed,
  jsonFlag,
  printJson,
  printLine,
  storeFlags,
  storeLocation,
} from '../command.ts'
import { showCount } from '../transfer/progress.ts'
import { withStore } from '../with-store.ts'

interface Contents {
  organizations: number
  tables: number
  records: number
}

export const backupCreateCommand: CliCommand = {
  name: 'backup create',
  positionals: ['FILE'],
  summary: 'copy the store into one file, also while the server runs',
  details: `The copy is one consistent moment of the whole store, every organization in it. It is checked and synced
before it takes its name. A file that exists is not overwritten. API keys are in it only as hashes.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    refuseOtherEngines(args, 'use pg_dump (docs/engines.md)')
    const file = resolve(args.positionals[0]!)
    if (existsSync(file)) throw new CommandFailed(`${file} exists and is not overwritten`)
    const contents = await withStore(args, { mustExist: true }, () => copyStore(resolve(args.text('data')!), file))
    report(args, { file, bytes: statSync(file).size, ...contents }, `wrote ${file}`)
    return 0
  },
}

export const backupRestoreCommand: CliCommand = {
  name: 'backup restore',
  positionals: ['FILE'],
  summary: 'make a new data directory of a backup',
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store.
API keys are as they were: revoke again what was revoked after the backup.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    refuseOtherEngines(args, 'use pg_restore (docs/engines.md)')
    const file = resolve(args.positionals[0]!)
    const dataDir = resolve(args.text('data')!)
    if (!existsSync(file)) throw new CommandFailed(`there is no file ${file}`)
    refuseExistingStore(dataDir)
    const contents = await restoreStore(file, dataDir)
    report(args, { data: dataDir, bytes: statSync(join(dataDir, 'cubby.db')).size, ...contents }, `restored ${dataDir}`)
    return 0
  },
}

const refuseOtherEngines = (args: Arguments, instead: string): void => {
  if (storeLocation(args).store === undefined) return
  throw new CommandFailed(`backup is for the embedded engine; with --store ${instead}`)
}

const report = (
  args: Arguments,
  facts: Contents & { bytes: number; file?: string; data?: string },
  what: string,
): void => {
  if (args.flag('json')) {
    printJson(facts)
    return
  }
  const { organizations, tables, records, bytes } = facts
  const counts = [showCount(organizations, 'organization'), showCount(tables, 'table'), showCount(records)].join(', ')
  printLine(`${what}: ${counts}, ${(bytes / 1_000_000).toFixed(1)} MB, verified`)
}

const temporaryOf = (file: string): string => `${file}.tmp`

const makeExclusive = (temporary: string): void => {
  try {
    // Readable by its owner alone from the first moment: it will hold every organization's records.
    closeSync(openSync(temporary, 'wx', 0o600))
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw cannotWrite(temporary, error as Error)
    throw new CommandFailed(`${temporary} exists: another backup is being made, or one was interrupted; then remove it`)
  }
}

const cannotWrite = (file: string, error: Error): CommandFailed =>
  new CommandFailed(`${file} cannot be written: ${error.message}`)

const sync = (path: string): void => {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Synced before the name is there, and the name synced too: a power cut leaves a whole backup or none. */
const moveIntoPlace = (temporary: string, file: string): void => {
  sync(temporary)
  renameSync(temporary, file)
  sync(dirname(file))
}

const removeTemporary = (temporary: string): void => {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(temporary + end, { force: true })
}

const copyStore = async (dataDir: string, file: string): Promise<Contents> => {
  const temporary = temporaryOf(file)
  makeExclusive(temporary)
  try {
    const store = new Connection(join(dataDir, 'cubby.db'), 16_384)
    try {
      store.run(`VACUUM INTO '${temporary.replaceAll("'", "''")}'`)
    } catch (error) {
      throw isDamage(error) ? damagedStore(store.path, error) : cannotWrite(file, error as Error)
    } finally {
      store.close()
    }
    const contents = await verifyCopy(temporary, `the copy of ${join(dataDir, 'cubby.db')}`)
    // A backup may have been made meanwhile under the same name, by hand.
    if (existsSync(file)) throw new CommandFailed(`${file} exists and is not overwritten`)
    moveIntoPlace(temporary, file)
    return contents
  } catch (error) {
    removeTemporary(temporary)
    throw error
  }
}

/** Throws for the first finding. `what` is what the message calls it. */
const verifyCopy = async (path: string, what: string): Promise<Contents> => {
  const db = openCopy(path, what)
  try {
    const version = db.prepare<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version
    if (version === 0) throw new CommandFailed(`${what} is not a backup of Cubby`)
    if (version > schemaVersion) {
      throw new CommandFailed(
        `${what} has version ${version}; this Cubby knows versions up to ${schemaVersion}: use a newer one`,
      )
    }
    for await (const finding of checkStore(db)) throw new CommandFailed(`${what} is not sound: ${finding}`)
    const count = (from: string): number => db.prepare<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()!.n
    return {
      organizations: count('organizations'),
      tables: count('tables'),
      records: count('records'),
    }
  } catch (error) {
    throw asFinding(error, what)
  } finally {
    db.close()
  }
}

const openCopy = (path: string, what: string): Connection => {
  try {
    return new Connection(path, 16_384)
  } catch (error) {
    throw asFinding(error, what)
  }
}

const asFinding = (error: unknown, what: string): unknown => {
  const { code, message } = error as { code?: string; message?: string }
  if (code?.startsWith('SQLITE_NOTADB')) return new CommandFailed(`${what} is not a backup of Cubby`)
  return code?.startsWith('SQLITE_') ? new CommandFailed(`${what} is damaged: ${message}`) : error
}

// A log without its database would be replayed over the restored one: what is left of a store counts as a store.
const refuseExistingStore = (dataDir: string): void => {
  for (const name of ['cubby.db', 'cubby.db-wal', 'cubby.db-journal']) {
    if (existsSync(join(dataDir, name)))
      throw new CommandFailed(`${dataDir} has a store (${name}); give another --data`)
  }
}

const restoreStore = async (file: string, dataDir: string): Promise<Contents> => {
  const isNew = !existsSync(dataDir)
  try {
    makeDataDir(dataDir)
  } catch (error) {
    throw cannotWrite(dataDir, error as Error)
  }
  const temporary = temporaryOf(join(dataDir, 'cubby.db'))
  let made = false
  const lock = holdStore(dataDir)
  try {
    makeExclusive(temporary)
    made = true
    copy(file, temporary)
    const contents = await verifyCopy(temporary, file)
    refuseExistingStore(dataDir)
    moveIntoPlace(temporary, join(dataDir, 'cubby.db'))
    lock.release()
    return contents
  } catch (error) {
    if (made) removeTemporary(temporary)
    lock.release()
    if (isNew) removeNewDirectory(dataDir)
    throw error
  }
}

const copy = (file: string, temporary: string): void => {
  try {
    // The backup itself is never opened as a database: that would write to it.
    copyFileSync(file, temporary, constants.COPYFILE_FICLONE)
    chmodSync(temporary, 0o600)
  } catch (error) {
    throw new CommandFailed(`${file} cannot be copied: ${(error as Error).message}`)
  }
}

const removeNewDirectory = (dataDir: string): void => {
  rmSync(join(dataDir, 'serve.lock'), { force: true })
  try {
    rmdirSync(dataDir)
  } catch {
    // Someone put something into it: it is theirs now.
  }
}
