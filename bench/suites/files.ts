import { randomFillSync } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../cleanup.ts'
import { httpRequest, type RequestTemplate, record } from '../load/template.ts'
import type { FilesResult } from '../results.ts'
import { callCubby, createOrganization, serveCubby } from '../subjects/cubby.ts'
import { CubbyDialect, table, tableIndices } from '../subjects/cubby-dialect.ts'
import { processTree, watchUsage } from '../subjects/process-usage.ts'
import { type ServerProcess, startServer } from '../subjects/server-process.ts'
import { HttpSubject } from '../subjects/subject.ts'
import { shapeOf } from '../workload.ts'
import type { Context } from './context.ts'

const program = fileURLToPath(new URL('../floor/files.ts', import.meta.url))
const bucket = '/v1/bench/_buckets/files'
const smallBytes = 4_096

interface FileServer {
  server: ServerProcess
  path: string
  headers: Record<string, string>
}

/** Megabytes per second, up and then down. */
const copyOnce = async ({ server, path, headers }: FileServer, content: Uint8Array): Promise<[number, number]> => {
  const url = `http://127.0.0.1:${server.port}${path}`
  const rate = (startedMs: number): number => content.length / 1000 / (performance.now() - startedMs)
  const beganMs = performance.now()
  const sent = await fetch(url, { method: 'PUT', headers, body: content as Uint8Array<ArrayBuffer> })
  const text = await sent.text()
  const up = rate(beganMs)
  const sha256 = new Bun.CryptoHasher('sha256').update(content).digest('hex')
  if (!sent.ok || JSON.parse(text).sha256 !== sha256) throw new Error(`files: upload: ${sent.status} ${text}`)
  const readMs = performance.now()
  const got = await fetch(url, { headers })
  let bytes = 0
  for await (const chunk of got.body!) bytes += chunk.length
  const down = rate(readMs)
  if (bytes !== content.length) throw new Error(`files: ${bytes} of ${content.length} bytes came back`)
  return [up, down]
}

const putSmall = (apiKey: string): RequestTemplate[] => [
  {
    times: 1,
    parts: httpRequest({
      ...{ method: 'PUT', path: [`${bucket}/small/`, record()], headers: { Authorization: `Bearer ${apiKey}` } },
      body: ['x'.repeat(smallBytes)],
    }),
  },
]

interface Started {
  server: ServerProcess
  apiKey: string
}

/** A server with a bucket and a table, on a store of its own. */
const serveFiles = async (name: string, args: string[] = []): Promise<Started> => {
  const location = ['--data', join(temporaryDirectory(), name)]
  const apiKey = await createOrganization(location)
  const server = await serveCubby(location, { args })
  await callCubby(server, apiKey, 'POST', bucket)
  await callCubby(server, apiKey, 'POST', table, { indices: tableIndices })
  return { server, apiKey }
}

/** One large file at a time, compared with a bare server that does the same copy; and small ones, compared with puts. */
export const runFiles = async ({ settings, say }: Context): Promise<FilesResult> => {
  const { rounds, seconds, warmSeconds, load } = settings
  const content = randomFillSync(new Uint8Array(settings.fileMegabytes * 1024 * 1024))
  const { server, apiKey } = await serveFiles('files-store', ['--no-small-files-in-store'])
  const floor = await startServer({ command: [process.execPath, program, join(temporaryDirectory(), 'files-floor')] })
  const cubby: FileServer = { server, path: `${bucket}/large`, headers: { Authorization: `Bearer ${apiKey}` } }
  const bare: FileServer = { server: floor, path: '/large', headers: {} }
  const result: FilesResult = {
    megabytes: settings.fileMegabytes,
    ...{ upload: [], floorUpload: [], download: [], floorDownload: [] },
    ...{ smallPerSecond: [], inStorePerSecond: [], putsPerSecond: [] },
    anonymousBytes: undefined,
  }
  await copyOnce(cubby, content)
  await copyOnce(bare, content)
  for (let round = 0; round < rounds; round++) {
    const usage = watchUsage(() => processTree(server.pid))
    const [up, down] = await copyOnce(cubby, content)
    result.anonymousBytes = Math.max(result.anonymousBytes ?? 0, usage.stop().residentBytes ?? 0) || undefined
    const [floorUp, floorDown] = await copyOnce(bare, content)
    result.upload.push(up)
    result.download.push(down)
    result.floorUpload.push(floorUp)
    result.floorDownload.push(floorDown)
  }
  const shape = shapeOf(10_000)
  // No more at once than a process takes of one organization.
  const connections = Math.min(load.connections, 48)
  const started = await serveFiles('files-in-store')
  const subjectOf = (of: Started): HttpSubject =>
    new HttpSubject('cubby', of.server, new CubbyDialect(of.apiKey), shape, { ...load, connections })
  const [subject, inStore] = [subjectOf({ server, apiKey }), subjectOf(started)]
  const small = async (of: HttpSubject, key: string, during = seconds): Promise<number> =>
    (await of.run(putSmall(key), during, 'small files')).requestsPerSecond
  await small(subject, apiKey, warmSeconds)
  await small(inStore, started.apiKey, warmSeconds)
  await subject.measure('put', warmSeconds)
  for (let round = 0; round < rounds; round++) {
    result.smallPerSecond.push(await small(subject, apiKey))
    result.inStorePerSecond.push(await small(inStore, started.apiKey))
    result.putsPerSecond.push((await subject.measure('put', seconds)).requestsPerSecond)
  }
  await subject.close()
  await inStore.close()
  await floor.stop()
  say(`files: up ${result.upload.at(-1)!.toFixed(0)} MB/s, small ${result.smallPerSecond.at(-1)!.toFixed(0)}/s`)
  return result
}
