import { mkdirSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'

// The floor of files: a bare Bun.serve that copies a body into a file with SHA-256, fsync, rename and fsync of the
// directory, and sends it again with Bun.file. No API key, no record, no ranges. `bun files.ts DIR`.

if (import.meta.main) {
  const dir = process.argv[2]!
  mkdirSync(dir, { recursive: true })
  process.stdin.on('end', () => process.exit(0)).resume()
  let files = 0

  const receive = async (request: Request): Promise<Response> => {
    const part = join(dir, `part-${++files}`)
    const file = await open(part, 'wx')
    const hasher = new Bun.CryptoHasher('sha256')
    for await (const chunk of request.body!) {
      hasher.update(chunk)
      await file.write(chunk)
    }
    await file.sync()
    await file.close()
    await rename(part, join(dir, new URL(request.url).pathname.slice(1)))
    const directory = await open(dir)
    await directory.sync()
    await directory.close()
    return Response.json({ sha256: hasher.digest('hex') })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request) =>
      request.method === 'PUT'
        ? receive(request)
        : new Response(Bun.file(join(dir, new URL(request.url).pathname.slice(1)))),
  })
  process.stderr.write(`${JSON.stringify({ message: 'listening', url: server.url.origin })}\n`)
}
