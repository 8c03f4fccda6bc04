import { signal } from '@preact/signals'

// Live regions: screen readers say what changed without moving the focus.

const polite = signal('')
const urgent = signal('')

/** Counts, saves. */
export const announce = (text: string): void => {
  polite.value = text
}

/** Errors. */
export const alarm = (text: string): void => {
  urgent.value = text
}

export const LiveRegions = () => (
  <>
    <div class="offscreen" role="status">
      {polite}
    </div>
    <div class="offscreen" role="alert">
      {urgent}
    </div>
  </>
)
