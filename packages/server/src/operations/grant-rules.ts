import type { Need, PathNeed } from '../core/tokens/grants.ts'
import type { BucketAddress, TableAddress, TaskAddress } from './access.ts'

/** What a verb touches, for the grants of user tokens. */
export interface GrantRule<Input> {
  /** What the path of its route names. */
  readonly of: PathNeed['of']
  /** The least that a grant must allow for a request to that path, whatever its body is. */
  readonly can: PathNeed['can']
  /** Everything that the input touches: each part must be granted. */
  needs(input: Input): Need | readonly Need[]
}

// Rules that several verbs share. A verb with a rule of its own has it in its file.

/** A verb on the record that its path, or its body, names. */
export const ofRecord = (can: 'read' | 'write'): GrantRule<TableAddress & { hashKey: string }> => ({
  of: 'table',
  can,
  needs: ({ db, table, hashKey }) => ({ of: 'table', db, table, can, hash: hashKey }),
})

/** A verb that writes a whole record. */
export const ofPut: GrantRule<TableAddress & { hashKey: string; data: string }> = {
  of: 'table',
  can: 'write',
  needs: ({ db, table, hashKey, data }) => ({ of: 'table', db, table, can: 'write', hash: hashKey, data }),
}

/** A verb on one file. */
export const ofFile = (can: 'read' | 'write'): GrantRule<BucketAddress & { name: string }> => ({
  of: 'bucket',
  can,
  needs: ({ db, bucket, name }) => ({ of: 'file', db, bucket, can, name }),
})

/** A verb on a run. Whose run it is, is looked at when it is found. */
export const ofTask: GrantRule<TaskAddress> = {
  of: 'task',
  can: 'read',
  needs: ({ db, task }): Need => ({ of: 'task', db, task }),
}
