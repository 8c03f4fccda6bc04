import type { ApiResponse } from './api-response.ts'
import type { RawConnection } from './raw-connection.ts'

export interface SlowSender {
  startedAtMs: number
  answer: Promise<ApiResponse>
  answeredAtMs: Promise<number>
  closed: Promise<void>
  stop(): void
}

/** Sends a body that never ends: after its first bytes nothing more, or `drop` once a second. The head is already sent. */
export const sendSlowly = (connection: RawConnection, first: string, drop: string | undefined): SlowSender => {
  connection.send(first)
  const startedAtMs = performance.now()
  const timer = setInterval(() => drop !== undefined && connection.send(drop), 1_000)
  const answer = connection.answer()
  const answeredAtMs = answer.then(() => performance.now())
  answeredAtMs.catch(() => {})
  const stop = () => {
    clearInterval(timer)
    connection.close()
  }
  return { startedAtMs, answer, answeredAtMs, closed: connection.closed, stop }
}
