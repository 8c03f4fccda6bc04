import { useSignal } from '@preact/signals'
import { navigate } from '../../router.ts'
import { loadCatalogue } from '../../state/catalogue.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { toast } from '../../ui/toasts.tsx'
import { loadSample, removeSample } from './load-sample.ts'
import { sampleDatabase } from './shop.ts'

export const SampleButton = () => {
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  const load = async () => {
    isRunning.value = true
    error.value = undefined
    try {
      await loadSample()
      await loadCatalogue()
      navigate({ screen: 'table', db: sampleDatabase, table: 'orders' })
    } catch (thrown) {
      error.value = thrown
      isRunning.value = false
    }
  }
  return (
    <>
      <button type="button" disabled={isRunning.value} onClick={load}>
        Load sample data
      </button>
      {error.value !== undefined && <ErrorBox error={error.value} />}
    </>
  )
}

export const RemoveSampleButton = () => {
  const error = useSignal<unknown>(undefined)
  const remove = async () => {
    error.value = undefined
    try {
      await removeSample()
      await loadCatalogue()
      navigate({ screen: 'home' })
      toast('The sample data is removed.')
    } catch (thrown) {
      error.value = thrown
    }
  }
  return (
    <>
      <button type="button" onClick={remove}>
        Remove the sample data
      </button>
      {error.value !== undefined && <ErrorBox error={error.value} />}
    </>
  )
}
