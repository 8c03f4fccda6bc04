import { CubbyError } from '../core/errors.ts'
import { requestsInFlightMax } from '../core/limits.ts'
import { Shares } from '../core/shares.ts'

/** One request, counted for its organization and its API key. */
export interface Admittable {
  readonly orgId: number
  readonly keySeq: number
  isAdmitted: boolean
}

const tooMany = (): CubbyError =>
  new CubbyError('unavailable', 'Too many requests of this caller are in flight; nothing was applied.', {
    hint: 'Repeat the request after the time in Retry-After.',
  })

/** Limits the requests in flight: in total, per organization and per API key. */
export class Admission {
  readonly #inFlight = new Shares(requestsInFlightMax)

  /** Throws `unavailable` when there is no room. */
  admit(request: Admittable): void {
    request.isAdmitted = this.#inFlight.tryTake(request.orgId, request.keySeq, 1)
    if (!request.isAdmitted) throw tooMany()
  }

  leave(request: Admittable): void {
    this.#inFlight.give(request.orgId, request.keySeq, 1)
    request.isAdmitted = false
  }
}
