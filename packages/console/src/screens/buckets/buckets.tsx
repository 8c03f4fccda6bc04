import { useSignal } from '@preact/signals'
import { pageRowsMax } from '../../../../server/src/core/limits.ts'
import { curlOf } from '../../api/curl.ts'
import { bucketPath } from '../../api/files.ts'
import { pathOf, read } from '../../api/request.ts'
import type { BucketMetadata, ListBucketsResponse } from '../../api/types.ts'
import { hrefOf, navigate } from '../../router.ts'
import { refreshRail } from '../../state/catalogue.ts'
import { canWrite } from '../../state/session.ts'
import { nameFault } from '../../text/names.ts'
import { set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DatabaseTabs } from '../../ui/database-tabs.tsx'
import { Deleted } from '../../ui/deleted.tsx'
import { FormDialog, TextField } from '../../ui/form.tsx'
import { List } from '../../ui/list.tsx'
import { More, Shown, useLoad, usePaged } from '../../ui/load.tsx'
import { Empty, Screen } from '../../ui/screen.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toasts.tsx'

const isDeleted = (bucket: BucketMetadata) => bucket.status === 'deleted'

export const BucketsScreen = ({ db }: { db: string }) => {
  const path = pathOf('v1', db, '_buckets')
  const isCreating = useSignal(false)
  const name = useSignal('')
  const fault = useSignal<string | undefined>(undefined)
  const pages = usePaged(async (cursor, signal) => {
    const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const found = await read<ListBucketsResponse>('GET', `${path}?limit=${pageRowsMax}${after}`, { signal })
    return { items: found.buckets, count: found.buckets.length, cursor: found.cursor }
  })
  const deleted = useLoad(
    async (signal) =>
      canWrite.value
        ? (await read<ListBucketsResponse>('GET', `${path}?deleted=true&limit=${pageRowsMax}`, { signal })).buckets
        : [],
    [],
  )
  const create = async () => {
    const bucket = name.value
    fault.value = nameFault(bucket)
    if (fault.value !== undefined) return
    await read('POST', bucketPath(db, bucket))
    refreshRail(db)
    navigate({ screen: 'bucket', db, bucket })
  }
  const createButton = canWrite.value && (
    <button type="button" class="filled" onClick={set(isCreating, true)}>
      Create a bucket
    </button>
  )
  const list = pages.items()
  const isEmpty = pages.first.value.value !== undefined && list.length === 0
  return (
    <Screen
      path={[{ label: db, to: { screen: 'database', db } }]}
      title="Buckets"
      actions={
        <>
          <CopyButton label="Copy as curl" text={() => curlOf({ method: 'GET', path })} />
          {!isEmpty && createButton}
        </>
      }
    >
      <div class="pad">
        <DatabaseTabs db={db} at="buckets" />
        <Shown of={pages.first}>
          {() =>
            isEmpty ? (
              <Empty text="A bucket holds files: pictures, exports, documents. This database has none.">
                {createButton}
              </Empty>
            ) : (
              <List heads={['bucket', 'id, part of the URLs of its files', 'created']}>
                {list.map(({ bucket, id, createdAt }) => (
                  <tr key={id}>
                    <th scope="row">
                      <a href={hrefOf({ screen: 'bucket', db, bucket })}>{bucket}</a>
                    </th>
                    <td class="mono muted">{id}</td>
                    <td class="nowrap">
                      <Time ms={createdAt} />
                    </td>
                  </tr>
                ))}
              </List>
            )
          }
        </Shown>
        <More of={pages} />
        {pages.first.value.value !== undefined && (
          <Shown of={deleted} rows={0}>
            {(buckets) => (
              <Deleted
                what="bucket"
                things={buckets.filter(isDeleted).map((bucket) => ({ ...bucket, name: bucket.bucket }))}
                restore={async ({ name, deletedAt }) => {
                  await read('POST', `${bucketPath(db, name)}/restore`, { body: JSON.stringify({ deletedAt }) })
                  refreshRail(db)
                  toast(`${name} is restored.`)
                  await Promise.all([pages.first.reload(), deleted.reload()])
                }}
              />
            )}
          </Shown>
        )}
      </div>
      {isCreating.value && (
        <FormDialog title="Create a bucket" action="Create" run={create} onClose={set(isCreating, false)}>
          <TextField
            label="Name"
            hint="1 to 64 lower-case letters, digits, _ or -"
            fault={fault.value}
            value={name.value}
            onText={(text) => {
              name.value = text
              fault.value = undefined
            }}
          />
        </FormDialog>
      )}
    </Screen>
  )
}
