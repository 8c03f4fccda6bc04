import { batchOperationsMax } from '../../../../server/src/core/limits.ts'
import { serverNowMs } from '../../api/clock.ts'
import { ApiError } from '../../api/error.ts'
import { pathOf, send } from '../../api/request.ts'
import { navigate } from '../../router.ts'
import { loadCatalogue } from '../../state/catalogue.ts'
import { Failure, useAction } from '../../ui/action.tsx'
import { toast } from '../../ui/toasts.tsx'
import { sampleDatabase, sampleOperations, sampleTables } from './shop.ts'

const loadSample = async (): Promise<void> => {
  const operations = sampleOperations(serverNowMs())
  for (const [table, indices] of Object.entries(sampleTables)) {
    const path = pathOf('v1', sampleDatabase, table)
    await send('POST', path, { body: JSON.stringify({ indices }) })
    const all = operations[table as keyof typeof sampleTables]
    for (let from = 0; from < all.length; from += batchOperationsMax) {
      await send('POST', `${path}/batch`, {
        body: `{"operations":[${all.slice(from, from + batchOperationsMax).join(',')}]}`,
      })
    }
  }
}

/** The tables can be restored for 7 days, as any other. One of them may be gone already. */
const removeSample = async (): Promise<void> => {
  for (const table of Object.keys(sampleTables)) {
    try {
      await send('DELETE', pathOf('v1', sampleDatabase, table))
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'table_not_found') throw error
    }
  }
}

export const SampleButton = () => {
  const loading = useAction()
  const load = async () => {
    await loadSample()
    await loadCatalogue()
    navigate({ screen: 'table', db: sampleDatabase, table: 'orders' })
  }
  return (
    <>
      <button type="button" disabled={loading.isRunning} onClick={() => loading.run(load)}>
        Load sample data
      </button>
      <Failure of={loading} />
    </>
  )
}

export const RemoveSampleButton = () => {
  const removing = useAction()
  const remove = async () => {
    await removeSample()
    await loadCatalogue()
    navigate({ screen: 'home' })
    toast('The sample data is removed.')
  }
  return (
    <>
      <button type="button" onClick={() => removing.run(remove)}>
        Remove the sample data
      </button>
      <Failure of={removing} />
    </>
  )
}
