import { CubbyError } from '../core/errors.ts'
import { repeatLater } from '../core/hint.ts'
import {
  bodyChunkBytesMin,
  bodyChunksFreeMax,
  bodyMsMax,
  fileIdleMsMax,
  uploadProgressBytesMin,
} from '../core/limits.ts'

// The errors for a body that is not read, or not completely.

export const tooLarge = (bytesMax: number, hint?: string): CubbyError =>
  new CubbyError('body_too_large', `The body is larger than ${bytesMax} bytes.`, { hint })

export const tooMany = (): CubbyError =>
  new CubbyError('unavailable', 'Too many bodies of requests with this API key are arriving at once.', {
    hint: 'Repeat the request after the time in Retry-After; nothing was applied.',
  })

/** The client closed the connection. It cannot receive this answer, but the server did not fail. */
export const cutShort = (): CubbyError => new CubbyError('invalid_request', 'The body ended before it was complete.')

/** The answer closes the connection; otherwise the client could keep it open with the rest of the body. */
export class BodyAbandoned extends CubbyError {}

export const tooSlow = (): CubbyError =>
  new BodyAbandoned('unavailable', `The body did not arrive within ${bodyMsMax / 1000} seconds; nothing was applied.`, {
    hint: 'Send the whole body at once.',
  })

/** Too little of an upload has arrived. */
export class UploadStalled extends BodyAbandoned {}

export const uploadStalled = (): CubbyError =>
  new UploadStalled(
    'unavailable',
    `Fewer than ${uploadProgressBytesMin} bytes of the file arrived within ${fileIdleMsMax / 1000} seconds; the server stopped reading it. Nothing was stored.`,
    { hint: 'Repeat the request and send the file without long pauses.' },
  )

export const loadStalled = (): CubbyError =>
  new BodyAbandoned(
    'unavailable',
    `Fewer than ${uploadProgressBytesMin} bytes of the load arrived within ${fileIdleMsMax / 1000} seconds; the server stopped reading it.`,
    { hint: 'Send the lines from the one after the stored ones on, without long pauses.' },
  )

export const loadInterrupted = (): CubbyError =>
  new BodyAbandoned('unavailable', 'The server is stopping.', {
    hint: 'Repeat the load when the server runs again, or send the lines that are not stored.',
  })

export const notGzip = (cause: string): CubbyError =>
  new BodyAbandoned('invalid_request', `The body is not valid gzip: ${cause}.`, {
    field: 'Content-Encoding',
    hint: 'Send one whole gzip stream, or the lines as they are without Content-Encoding.',
  })

export const uploadReplaced = (): CubbyError =>
  new BodyAbandoned(
    'unavailable',
    'All places for uploads are taken, and this was the slowest upload of the organization with the most; nothing was stored.',
    { hint: repeatLater },
  )

export const tooFine = (): CubbyError =>
  new BodyAbandoned(
    'invalid_request',
    `The body has more than ${bodyChunksFreeMax} chunks, of fewer than ${bodyChunkBytesMin} bytes on average.`,
    { hint: 'Send it with Content-Length, or in larger chunks.' },
  )

export const paused = (): CubbyError =>
  new BodyAbandoned(
    'unavailable',
    'Another body sent with this API key had too many chunks; chunked bodies must wait.',
    {
      hint: 'Repeat the request after the time in Retry-After, or send it with Content-Length.',
    },
  )

export const ambiguousLength = (): CubbyError =>
  new BodyAbandoned('invalid_request', 'Content-Length is not one number.', {
    hint: 'Send Content-Length once.',
  })
