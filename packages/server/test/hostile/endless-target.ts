import { createServer } from 'node:net'
import { answerLines } from './reports.ts'

// A target of pushes, as a separate process, whose answer to the path `/102` is the interim answer 102 again and again, as
// fast as it is read.

export interface EndlessTargetReport {
  port: number
  /** The connections since the start. */
  connections: number
  /** Bytes that the sockets took, of all connections. */
  sentBytes: number
}

await answerLines<null, EndlessTargetReport>(async () => {
  const report = { port: 0, connections: 0, sentBytes: 0 }
  const server = createServer((socket) => {
    report.connections++
    socket.on('error', () => {})
    socket.once('data', (request: Buffer) => {
      const status = /^POST \/(\d+)/.exec(request.toString('latin1'))?.[1]
      const chunk = Buffer.from(`HTTP/1.1 ${status} Any\r\n\r\n`.repeat(2_000))
      const more = (): void => {
        while (!socket.destroyed) {
          report.sentBytes += chunk.length
          if (!socket.write(chunk)) return
        }
      }
      socket.on('drain', more)
      more()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  report.port = (server.address() as { port: number }).port
  return () => report
})
