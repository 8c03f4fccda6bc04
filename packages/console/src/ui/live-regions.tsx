import { polite, urgent } from './announce.ts'

/** Only what is added is said, not the texts before it again. */
export const LiveRegions = () => (
  <>
    <div class="offscreen" role="status" aria-atomic="false">
      {polite.value.map(({ text, id }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
    <div class="offscreen" role="alert">
      {urgent}
    </div>
  </>
)
