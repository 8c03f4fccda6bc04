import { fileCommands } from '../files/file-writes.ts'
import { addChecksums } from '../maintenance/add-checksums.ts'
import {
  purgeOrganizations,
  purgeTables,
  removeOldChanges,
  removeOldKeys,
  removeOldKeysOfUser,
  sweepExpired,
} from '../maintenance/sweep.ts'
import { vacuum } from '../maintenance/vacuumer.ts'
import { recordCommands } from '../records/record-writes.ts'
import { registryCommands } from '../registry/registry-writes.ts'
import { userCommands } from '../registry/user-writes.ts'
import { batch } from '../runs/batch-writes.ts'
import { expireLeases, fireSchedules, sweepRuns } from '../runs/due-runs.ts'
import { runCommands } from '../runs/run-writes.ts'
import { taskCommands } from '../tasks/task-writes.ts'
import { load } from '../transfer/load.ts'
import { idempotencyKeyCommands } from './idempotency-key-writes.ts'

/**
 * Every command of the writer is a function that applies it inside the open transaction. Its type is that of the command and
 * its result. Its first parameter names what it needs of `Writers` (write-connection.ts). Input and result are sent between
 * threads as JSON. The fence of a command that has one is checked before.
 */
export const commands = {
  ...recordCommands,
  ...registryCommands,
  ...userCommands,
  ...fileCommands,
  ...taskCommands,
  ...runCommands,
  ...idempotencyKeyCommands,
  ...{ batch, expireLeases, fireSchedules, sweepRuns },
  ...{
    sweepExpired,
    purgeTables,
    purgeOrganizations,
    removeOldChanges,
    removeOldKeys,
    removeOldKeysOfUser,
    addChecksums,
    vacuum,
    load,
  },
}
