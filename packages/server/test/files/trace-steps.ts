import { writeSync } from 'node:fs'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'

// Run under strace by syncs.test.ts: each step ends with a line on stdout, which is a call of the trace, too.

const blobStore = new DirectoryBlobStore(process.argv[2]!, { now: () => Date.now() + 10 * 24 * 60 * 60 * 1000 })
const said = (step: string): void => void writeSync(1, `${step}\n`)

await blobStore.writeMark('00112233445566778899aabbccddeeff'.repeat(2))
said('marked')
const id = newBlobId(Date.now())
const writer = await blobStore.write(id)
await writer.write(new Uint8Array(200_000))
await writer.finish('')
said(`written ${id}`)
await blobStore.remove(id)
said('removed')

// Small files that come at the same time.
const server = new DirectoryBlobStore(process.argv[2]!)
const small = Array.from({ length: 5 }, () => newBlobId(Date.now()))
await Promise.all(
  small.map(async (id) => {
    const writer = await server.write(id, 4_096)
    await writer.write(new Uint8Array(4_096))
    await writer.finish('')
    said(`small ${id}`)
  }),
)
await server.close()
