/** Messages between the owner's process and one worker's. Only the engine knows what is in them. */
export interface WorkerChannel {
  send(message: unknown): void
  onMessage(receive: (message: unknown) => void): void
  onClose(closed: () => void): void
}
