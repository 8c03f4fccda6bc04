import type {
  ChangesRequest,
  ChangesResponse,
  CreateTableRequest,
  DeleteChange,
  KeepChangesRequest,
  PutChange,
  TableChanges,
} from '@cubbydb/client'
import { fromRule, selectRule } from '../../core/changes/changes-request.ts'
import { keepHoursRule } from '../../core/changes/keep-hours.ts'
import { keepHoursDefault, pageRowsDefault, pageRowsMax } from '../../core/limits.ts'
import { waitSecondsRule } from '../../core/tasks/parse-numbers.ts'
import { data, hashKey, rangeKey, recordKeyPart, ttl, updatedAt } from '../records/record-members.ts'
import { closed, cursorText, milliseconds, number, objectOf, ref, type Schema } from '../schema.ts'

export const changesSchemas = {
  TableChanges: objectOf<TableChanges>('How the table keeps its changes.', ['keepHours', 'since'], {
    keepHours: { ...keepHoursRule, description: 'A change is kept at least so many hours.' },
    since: milliseconds('Since when it keeps them.'),
  }),
  CreateTableChanges: closed(
    objectOf<NonNullable<CreateTableRequest['changes']>>('The new table keeps its changes.', [], {
      keepHours: { ...keepHoursRule, description: `How many hours at least, ${keepHoursDefault} unless given.` },
    }),
  ),
  KeepChangesRequest: closed(
    objectOf<KeepChangesRequest>('How long a table keeps its changes.', ['keepHours'], {
      keepHours: {
        ...keepHoursRule,
        type: ['integer', 'null'],
        description: 'How many hours at least; null: it keeps none, and every cursor ends.',
      },
    }),
  ),
  ChangesRequest: closed(
    objectOf<ChangesRequest>('Which changes to read.', [], {
      cursor: {
        type: ['string', 'null'],
        ...cursorText,
        description: 'The `cursor` of the previous answer. Absent or null: it begins as `from` says.',
      },
      from: {
        ...fromRule,
        description:
          'Without a cursor: every record first (`start`, which is the default), or only what is committed from now on.',
      },
      hash: { ...recordKeyPart, description: 'Only the changes of records with this hash key.' },
      limit: {
        type: 'integer',
        minimum: 1,
        description: `The maximum number of items, ${pageRowsDefault} unless given. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}.`,
      },
      waitSeconds: {
        ...waitSecondsRule,
        description: 'How long an empty page may wait for a change.',
      },
      select: {
        ...selectRule,
        description: 'With `keys` the items have no `data`.',
      },
    }),
  ),
  PutChange: objectOf<PutChange>('A record as it is since a write.', ['op', 'hashKey', 'updatedAt'], {
    op: { type: 'string', const: 'put' },
    hashKey,
    rangeKey,
    data,
    ttl,
    updatedAt,
  }),
  DeleteChange: objectOf<DeleteChange>('A record that is gone.', ['op', 'hashKey', 'deletedAt'], {
    op: { type: 'string', const: 'delete' },
    hashKey,
    rangeKey,
    deletedAt: milliseconds('When it was deleted; of an expired record its `ttl`, in milliseconds.'),
    expired: { type: 'boolean', const: true, description: 'Its `ttl` has passed.' },
  }),
  ChangesResponse: objectOf<ChangesResponse>('A page of changes.', ['items', 'count', 'cursor', 'more'], {
    items: { type: 'array', items: { oneOf: [ref('PutChange'), ref('DeleteChange')] } },
    count: { type: 'integer', minimum: 0, maximum: pageRowsMax },
    cursor: { type: 'string', ...cursorText, description: 'Send it with the next request, which goes on from here.' },
    more: { type: 'boolean', description: 'Another page is ready now.' },
  }),
} satisfies Record<string, Schema>
