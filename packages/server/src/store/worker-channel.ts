/** Messages between the owner process and one worker. Only the engine knows their content. */
export interface WorkerChannel {
  send(message: unknown): void
  onMessage(receive: (message: unknown) => void): void
  onClose(closed: () => void): void
}
