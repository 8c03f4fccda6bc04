import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cubby, type CubbyOptions } from '../src/index.ts'
import { optionsOf } from './fake-fetch.ts'

const main = process.env.CUBBY_TEST_MAIN || join(import.meta.dir, '../../server/src/main.ts')

export interface Organization {
  secretKey: string
  publicKey: string
}

/** Runs `work` with a directory of its own and removes it afterwards. */
export const inTemporaryDirectory = async <T>(work: (directory: string) => Promise<T>): Promise<T> => {
  const directory = await mkdtemp(join(tmpdir(), 'cubby-client-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

export const createOrganization = async (data: string, name: string): Promise<Organization> => {
  const command = Bun.spawn([process.execPath, main, 'orgs', 'create', name, '--data', data, '--json'], {
    stderr: 'inherit',
  })
  const text = await new Response(command.stdout).text()
  if ((await command.exited) !== 0) throw new Error(`orgs create answered: ${text}`)
  return JSON.parse(text)
}

/** Resolves with the url of the line `listening`, and reads on to the end so that the log never fills the pipe. */
const listeningUrl = (log: ReadableStream<Uint8Array>): Promise<string> =>
  new Promise((resolve, reject) => {
    const follow = async () => {
      let text = ''
      const decoder = new TextDecoder()
      for await (const bytes of log) {
        text += decoder.decode(bytes, { stream: true })
        const line = text.split('\n').find((line) => line.includes('"message":"listening"') && line.endsWith('}'))
        if (line !== undefined) resolve(JSON.parse(line).url)
      }
      reject(new Error(`the server ended before it listened:\n${text}`))
    }
    follow().catch(reject)
  })

/** The real server over the store in `data`, on a free port unless one is given. */
export const serve = async (data: string, { port = '0', flags = [] as string[] } = {}) => {
  const command = [process.execPath, main, 'serve', '--data', data, '--port', port, '--no-bootstrap', ...flags]
  const server = Bun.spawn(command, { stderr: 'pipe' })
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    server.kill(signal)
    await server.exited
  }
  const url = await listeningUrl(server.stderr)
  return { url, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') }
}

/** A server with one organization, for a test file. `stop` removes everything. */
export const startRealServer = async (flags: string[] = []) => {
  const data = await mkdtemp(join(tmpdir(), 'cubby-client-'))
  const removeData = () => rm(data, { recursive: true, force: true })
  const start = async () => ({
    organization: await createOrganization(data, 'acme'),
    server: await serve(data, { flags }),
  })
  const { organization, server } = await start().catch(async (error) => {
    await removeData()
    throw error
  })
  return {
    data,
    url: server.url,
    ...organization,
    cubby: (options: Partial<CubbyOptions> = {}) =>
      new Cubby(optionsOf({ url: server.url, key: organization.secretKey }, options)),
    stop: async () => {
      await server.stop()
      await removeData()
    },
  }
}

export type RealServer = Awaited<ReturnType<typeof startRealServer>>
