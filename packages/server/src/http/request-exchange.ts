import { type Awaitable, andThen } from '../core/awaitable.ts'
import { freeChunk } from '../core/free-chunk.ts'
import { connectionIdleSecondsMax, responseIdleSecondsMax, smallUploadBytesMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { BuiltResponse, Slices } from '../core/slices.ts'
import type { Access } from '../operations/access.ts'
import { permit } from '../operations/authorize.ts'
import { shareOf, type TokenUser } from '../store/api-keys.ts'
import type { Engine } from '../store/engine.ts'
import type { Admission, Admittable } from './admit.ts'
import type { Arrivals } from './arrivals.ts'
import { type Authenticator, type Caller, recognize } from './authenticate.ts'
import type { BodyHolder, BodyReader, RefuseBody } from './body.ts'
import type { Downloads } from './downloads.ts'
import type { Exchange } from './exchange.ts'
import { type Feeds, refusalOf } from './feeds.ts'
import { type FileBody, fileBody, type StoredBytes } from './file-body.ts'
import type { KeyedRequest } from './keyed-request.ts'
import type { Loads } from './loads.ts'
import { type ObservedExchange, ObservedResponse, type ObservedRoute } from './observe.ts'
import { type ResponseBodies, type ResponseBody, sentAtOnce } from './response-bodies.ts'
import type { ResponseEnds } from './response-ends.ts'
import { noteStream } from './response-notes.ts'
import type { Room } from './rooms.ts'
import type { Route } from './routes.ts'
import type { Turns } from './turns.ts'
import { ChunkedBody, type UploadBodies, type UploadProgress } from './upload-body.ts'
import type { Uploads } from './uploads.ts'
import type { FoundToken } from './user-tokens.ts'
import type { UserWaits } from './user-waits.ts'

/** The parts that all exchanges of a server share. */
export interface Shared {
  readonly authenticator: Authenticator
  readonly admission: Admission
  readonly bodies: BodyReader
  readonly turns: Turns
  readonly arrivals: Arrivals
  readonly responseBodies: ResponseBodies
  readonly responseEnds: ResponseEnds
  readonly downloads: Downloads
  readonly log: Log
  /** Requests that were applied before, under their idempotency key. */
  replays: number
  readonly uploads: Uploads
  readonly loads: Loads
  readonly feeds: Feeds
  readonly userWaits: UserWaits
  readonly uploadBodies: UploadBodies
  now(): number
  /** The address at which the caller reached the server. */
  baseUrlOf(request: Request): string
  /** Sets how long the request's connection may be idle from now on. */
  setIdleTimeout(request: Request, seconds: number): void
}

/** The end of a user token is noticed by waits after this time. */
const tokenCheckMs = 1_000

const asItIs = (text: string): string => text

/** One request in the pipeline. */
export class RequestExchange
  extends ObservedResponse
  implements Exchange, Caller, BodyHolder, Admittable, ObservedExchange
{
  #access!: Access
  #isPermitted = false
  nowMs = 0
  heldBytes = 0
  receivedBytes = 0
  waitedMs = 0
  presentedKey: string | undefined = undefined
  token: FoundToken | undefined = undefined
  isFromForeignPage: boolean | undefined = undefined
  isAdmitted = false
  /** While it waits: that of the request, which the end of a user token aborts too. */
  #signal: AbortSignal | undefined
  /** The number of its last turn. */
  #turn = 0
  /** True if its turn has begun and no steps have run in it. */
  #isTurnFresh = false
  /** The room of a response that is built in several turns. */
  #room: Room | undefined
  #once: KeyedRequest | undefined
  /** The body of a request with an idempotency key. */
  #bodyText = ''
  #isReplaying = false
  /** The body of an upload without a declared length. */
  #chunked: ChunkedBody | undefined

  constructor(
    override readonly request: Request,
    readonly params: Exchange['params'],
    readonly requestId: string,
    readonly route: Route<string>,
    protected readonly shared: Shared,
  ) {
    super()
    const isChunked = this.#isStreamed && request.headers.has('transfer-encoding')
    if (isChunked && request.body !== null) this.#chunked = new ChunkedBody(request.body)
  }

  /** Notes what the log and the metrics need. */
  observe(matched: ObservedRoute, method: string, startedAtMs: number, countsAt: number | undefined): void {
    this.matched = matched
    this.knownMethod = method
    this.startedAtMs = startedAtMs
    this.countsAt = countsAt
    this.exchange = this
  }

  /** For a user there is none before `permit`: a handler that forgets it lets no user through. */
  get access(): Access {
    if (!this.#isPermitted && this.user !== undefined) throw new Error('a handler did not ask what its caller may do')
    return this.#access
  }

  set access(access: Access) {
    this.#access = access
  }

  /** The user, if the caller has a user token. Undefined before the key was found, too. */
  get user(): TokenUser | undefined {
    return (this.#access as Access | undefined)?.apiKey.user
  }

  get store(): Engine {
    return this.#access.engine
  }

  permit<Input>(input: Input): Input {
    permit<Input>(this.#access.apiKey, this.route.grants, input)
    this.#isPermitted = true
    return input
  }

  /** The answer to a read may still be refused. */
  get isRead(): boolean {
    return this.route.keyNeeded === 'read'
  }

  /** The answer to a write cannot be refused afterwards. Throws `unavailable` if there is no room for one. */
  refuseIfFull(): void {
    if (!this.isRead) this.shared.responseBodies.refuseIfFull(this.orgId, this.keySeq)
  }

  get orgId(): number {
    return this.#access.apiKey.orgId
  }

  get keySeq(): number {
    return shareOf(this.#access.apiKey)
  }

  get identity(): ObservedExchange['identity'] {
    // The access is not set before the key was found.
    const access = this.#access as Access | undefined
    return access && { orgId: access.apiKey.orgId, keyId: access.apiKey.id }
  }

  /**
   * Tells whether its organization is as good as known. Until then the request is a stranger's: see `#meet` in the pipeline.
   */
  isKnown(): boolean {
    return recognize(this)
  }

  authenticate(): Awaitable<void> {
    const authenticated = this.shared.authenticator.authenticate(this)
    return this.#once === undefined ? authenticated : andThen(authenticated, () => this.#addOnce())
  }

  useOnce(once: KeyedRequest): void {
    this.#once = once
    this.#addOnce()
  }

  #addOnce(): void {
    this.#access.once = this.#once
  }

  countReplay(): void {
    this.shared.replays++
  }

  replayAt(nowMs: number): void {
    this.#isReplaying = true
    this.nowMs = nowMs
  }

  /** Reads at once if it may: the handlers that use it write, and the writer works while the next body is read. */
  async readBody(bytesMax: number, alsoType?: string): Promise<string> {
    if (this.#isReplaying) return this.#bodyText
    const { bodies, turns } = this.shared
    const inTurn = (text: string): Awaitable<string> =>
      turns.isFree ? this.#useInTurn(text, asItIs) : this.#takeLater(text)
    return bodies.read(this.request, bytesMax, this, inTurn, undefined, alsoType)
  }

  /** The handler does its work with the text after a promise: only `wait` makes the others wait for it. */
  async #takeLater(text: string): Promise<string> {
    await this.shared.turns.wait(this.orgId, this.keySeq)
    return this.#useInTurn(text, asItIs)
  }

  withBody<T>(bytesMax: number, use: (text: string) => Awaitable<T>, refuse?: RefuseBody<T>): Awaitable<T> {
    if (this.#isReplaying) return use(this.#bodyText)
    const { bodies, arrivals, turns } = this.shared
    const useInTurn = (text: string): Awaitable<T> => {
      const work = (): Awaitable<T> => this.#useInTurn(text, use)
      const later = (): Promise<T> => turns.run(this.orgId, this.keySeq, work)
      return turns.isFree ? arrivals.run(work, later) : later()
    }
    return bodies.read(this.request, bytesMax, this, useInTurn, refuse)
  }

  #useInTurn<T>(text: string, use: (text: string) => Awaitable<T>): Awaitable<T> {
    this.#beginTurn()
    if (this.#once !== undefined) {
      this.#once.noteBody(text)
      this.#bodyText = text
    }
    return andThen(this.authenticate(), () => {
      // Many requests may have come while there was room, and those before it have taken it in their turns.
      this.refuseIfFull()
      return use(text)
    })
  }

  #beginTurn(): void {
    this.#turn = this.shared.turns.begin(this.orgId, this.keySeq, true)
    this.#isTurnFresh = true
  }

  /** The request is answered: what its connection needs from now on is not its time. */
  endTurn(): void {
    this.shared.turns.endTurn(this.#turn)
  }

  readUpload(progress: UploadProgress): AsyncIterable<Uint8Array> {
    return this.#inTurns(this.shared.uploadBodies.pieces(this.request, this.#chunked, progress))
  }

  async readSmallUpload(bytes: number, progress: UploadProgress): Promise<Uint8Array> {
    const whole = await this.shared.uploadBodies.whole(this.request, bytes, progress, this)
    try {
      await this.turn()
      await this.authenticate()
      return whole
    } catch (error) {
      freeChunk(whole)
      throw error
    }
  }

  async *readLoad(progress: UploadProgress): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of this.shared.uploadBodies.pieces(this.request, this.#chunked, progress)) {
      this.receivedBytes += chunk.length
      yield chunk
    }
  }

  get #isStreamed(): boolean {
    return this.route.body === 'upload' || this.route.body === 'load'
  }

  /** Tells whether the body is a file that is read whole. */
  get isSmallUpload(): boolean {
    if (this.route.body !== 'upload' || this.#chunked !== undefined) return false
    const length = this.request.headers.get('content-length')
    return length !== null && Number(length) <= smallUploadBytesMax
  }

  /** Runs the handler of the route. */
  run(): Awaitable<Response> {
    const { route, shared } = this
    if (this.#chunked === undefined) return route.handler(this)
    const isLoad = route.body === 'load'
    const answer = shared.uploadBodies.run(this.#chunked, this.keySeq, isLoad, () => route.handler(this))
    // A load is answered before the end of its body if a line has stopped it.
    return isLoad ? answer.then((response) => this.leaveUpload(response)) : answer
  }

  /**
   * The answer to an upload or a load whose body was not read to its end. The connection stays open: a client that is still sending
   * would see a broken connection instead of the answer, and Bun drops the rest of the body as it arrives. Only a body of many
   * small chunks, which Bun would parse one by one, is cut off.
   */
  async leaveUpload(response: Response): Promise<Response> {
    if (this.#chunked === undefined) return response
    // The answer that closes the connection must not wait: Bun parses on until it is there.
    if (response.headers.get('connection') === 'close') this.#chunked.cancel()
    else if (await this.#chunked.drop()) response.headers.set('Connection', 'close')
    return response
  }

  async withoutIdleTimeout<T>(work: () => Promise<T>): Promise<T> {
    const { request, shared } = this
    shared.setIdleTimeout(request, 0)
    try {
      return await work()
    } finally {
      shared.setIdleTimeout(request, connectionIdleSecondsMax)
    }
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.request.signal
  }

  /** Ends the wait of a user when the token ends, so that its place is free. */
  #watchToken(): () => void {
    const ended = new AbortController()
    this.#signal = AbortSignal.any([this.request.signal, ended.signal])
    const timer = setInterval(async () => {
      const refusal = await refusalOf(() => this.authenticate())
      if (refusal !== undefined) ended.abort()
    }, tokenCheckMs)
    return () => {
      clearInterval(timer)
      this.#signal = undefined
    }
  }

  async pause<T>(wait: () => Promise<T>): Promise<T> {
    const { admission, bodies } = this.shared
    const wasAdmitted = this.isAdmitted
    bodies.release(this)
    if (wasAdmitted) admission.leave(this)
    const leave = this.user && this.shared.userWaits.enter(this.user)
    const unwatch = this.user && this.#watchToken()
    const waitsSince = performance.now()
    let result: T
    try {
      result = await wait()
    } finally {
      unwatch?.()
      leave?.()
      this.waitedMs += performance.now() - waitsSince
    }
    if (wasAdmitted) admission.admit(this)
    await this.turn()
    await this.authenticate()
    return result
  }

  now(): number {
    return this.shared.now()
  }

  get feeds(): Feeds {
    return this.shared.feeds
  }

  get loads(): Loads {
    return this.shared.loads
  }

  get uploads(): Uploads {
    return this.shared.uploads
  }

  get baseUrl(): string {
    return this.shared.baseUrlOf(this.request)
  }

  async *#inTurns(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      this.receivedBytes += chunk.length
      await this.turn()
      yield chunk
    }
    await this.turn()
    await this.authenticate()
  }

  async turn(): Promise<void> {
    const { turns } = this.shared
    if (!turns.isFree) await turns.wait(this.orgId, this.keySeq)
    this.#beginTurn()
  }

  runSlices<T>(slices: Slices<T>): Awaitable<T> {
    const { turns } = this.shared
    // A request that has just got its turn does not wait for another: most have only one step.
    while (this.#isTurnFresh || turns.isFree) {
      this.#isTurnFresh = false
      const slice = slices.next()
      if (slice.done === true) return slice.value
      this.#turn = turns.begin(this.orgId, this.keySeq, true)
    }
    return this.#runInTurns(slices)
  }

  async #runInTurns<T>(slices: Slices<T>): Promise<T> {
    for (;;) {
      await this.turn()
      this.#isTurnFresh = false
      const slice = slices.next()
      if (slice.done === true) return slice.value
    }
  }

  tryTakeRoom(built: BuiltResponse): boolean {
    const { responseBodies } = this.shared
    this.#room ??= responseBodies.rooms.tryEnter(this, built, this.#access.engine.readsAtOnce)
    return this.#room !== undefined
  }

  async takeRoom(built: BuiltResponse): Promise<void> {
    if (this.tryTakeRoom(built)) return
    const { responseBodies } = this.shared
    this.#room = await responseBodies.rooms.enter(this, built, this.#access.engine.readsAtOnce)
    await this.turn()
    await this.authenticate()
  }

  addToRoom(bytes: number): void {
    this.#room?.add(bytes)
  }

  /** The answer takes the place of what was counted while it was built, or there is none. */
  leaveRoom(): void {
    this.#room?.leave()
  }

  bodyOf(text: string): ResponseBody {
    const { request, shared } = this
    this.leaveRoom()
    // The answer to HEAD has no body; Bun uses the text only for Content-Length.
    if (request.method === 'HEAD') return text
    const mayRefuse = this.isRead && this.#room === undefined
    const stream = shared.responseBodies.stream(this, text, mayRefuse, () =>
      shared.setIdleTimeout(request, connectionIdleSecondsMax),
    )
    if (stream === undefined) return sentAtOnce(text)
    shared.setIdleTimeout(request, responseIdleSecondsMax)
    return noteStream(stream, text)
  }

  fileBodyOf(stored: StoredBytes): Promise<FileBody> {
    return fileBody(this.shared, this, stored)
  }
}
