import { navigate } from '../../router.ts'
import { loadCatalogue } from '../../state/catalogue.ts'
import { Failure, useAction } from '../../ui/action.tsx'
import { toast } from '../../ui/toasts.tsx'
import { loadSample, removeSample } from './load-sample.ts'
import { sampleDatabase } from './shop.ts'

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
