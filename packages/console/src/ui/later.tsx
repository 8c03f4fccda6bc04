import { signal } from '@preact/signals'
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { ErrorBox } from './error-box.tsx'
import { Screen } from './screen.tsx'

const asScreen = (children: ComponentChildren) => (
  <Screen title="Cubby">{children !== undefined && <div class="pad">{children}</div>}</Screen>
)

/** A screen, or something else that `frame` surrounds, whose code is loaded when it is opened for the first time. */
export const later = <P extends object>(
  load: () => Promise<FunctionComponent<P>>,
  frame: (children: ComponentChildren) => ComponentChildren = asScreen,
): FunctionComponent<P> => {
  const loaded = signal<FunctionComponent<P> | undefined>(undefined)
  const error = signal<unknown>(undefined)
  const begin = async (): Promise<void> => {
    try {
      loaded.value = await load()
    } catch {
      error.value = new Error('This part of the console could not be loaded. The server may have another version now.')
    }
  }
  return (props) => {
    useEffect(() => {
      if (loaded.value === undefined) begin()
    }, [])
    const Loaded = loaded.value
    if (Loaded !== undefined) return <Loaded {...props} />
    return frame(
      error.value === undefined ? undefined : (
        <>
          <ErrorBox error={error.value} />
          <p>
            <button type="button" onClick={() => location.reload()}>
              Load the page again
            </button>
          </p>
        </>
      ),
    )
  }
}
