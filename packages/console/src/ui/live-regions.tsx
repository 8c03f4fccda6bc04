import { polite, urgent } from './announce.ts'

/** Screen readers say only the added text, not the texts before it again. */
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
