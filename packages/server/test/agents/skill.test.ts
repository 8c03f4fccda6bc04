import { beforeAll, expect, test } from 'bun:test'
import type { ErrorCode } from '../../src/core/errors.ts'
import { statusOf } from '../../src/http/status.ts'
import { type ApiResponse, type Json, makeTempDir, removeTempDir } from '../harness.ts'
import { useService } from '../http/service.ts'
import { Stage } from '../openapi/stage.ts'

// An agent does what the skill says. So every command and every request of it is run here, in the order of the text, and the
// answers are compared with those that it shows.

const service = useService()
let skill: string
beforeAll(async () => {
  skill = await (await fetch(`${service.server.url}/SKILL.md`)).text()
})

interface Block {
  language: string
  text: string
}

const blocksOf = (page: string): Block[] =>
  Array.from(page.matchAll(/^```(\w*)\n(.*?)^```$/gms), ([, language, text]) => ({ language: language!, text: text! }))

const runShell = async (text: string): Promise<Json> => {
  const home = makeTempDir()
  try {
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', text], {
      cwd: home,
      env: { PATH: process.env.PATH!, HOME: home, CUBBY_KEY: service.org.secretKey },
      stdin: 'ignore',
      stdout: 'pipe',
    })
    const printed = await new Response(child.stdout).text()
    expect(await child.exited).toBe(0)
    return JSON.parse(printed)
  } finally {
    removeTempDir(home)
  }
}

const send = async (text: string): Promise<ApiResponse> => {
  const [head, body] = text.trimEnd().split(/\n\n(.*)/s)
  const [request, ...headerLines] = head!.split('\n')
  const [, method, target] = /^([A-Z]+) (\/\S+)$/.exec(request!)!
  const headers = headerLines.map((line): [string, string] => {
    const [, name, value] = /^([\w-]+): (.+)$/.exec(line)!
    return [name!, value!]
  })
  if (body !== undefined) headers.push(['Content-Type', 'application/json'])
  return service.api.raw(method!, target!, { headers, body })
}

const canPaste = Bun.which('bash') !== null && Bun.which('curl') !== null
if (!canPaste) console.log('skill.test.ts: no bash or no curl here; the commands of the skill are sent as requests')

/** The request of a curl line, where there is no curl. */
const asRequest = (text: string): string => {
  const [, method = 'GET'] = / -X ([A-Z]+)/.exec(text) ?? []
  const [, path] = /http:\/\/[^/\s]+(\/\S*)/.exec(text)!
  const [, body] = / -d '(.*)'/s.exec(text) ?? []
  return [`${method} ${path}`, ...(body === undefined ? [] : [`\n${body}`])].join('\n')
}

test('every command and request of the skill works in the order of the text, with the answers that it shows', async () => {
  const stage = new Stage()
  const blocks = blocksOf(skill)
  let came: Json
  const counts = { sent: 0, compared: 0 }
  for (const [i, { language, text }] of blocks.entries()) {
    if (language === 'json') {
      stage.expectSame(JSON.parse(text), came, text)
      counts.compared++
      continue
    }
    if (language === 'sh') came = canPaste ? await runShell(text) : (await send(asRequest(text))).body
    else if (language === 'http') came = (await send(stage.translate(text))).body
    else throw new Error(`a block that is not run: ${text}`)
    counts.sent++
    // An answer that the page does not show is a success.
    if (blocks[i + 1]?.language !== 'json') expect([text, came.error]).toEqual([text, undefined])
  }
  expect(counts).toEqual({ sent: 17, compared: 12 })
  // No block is written in a way that the pattern does not see.
  expect(skill.split('\n').filter((line) => line.startsWith('```')).length).toBe(2 * blocks.length)
})

/** The text says these in words: the body of a query, and that a file is its bytes. */
const saidInWords: Record<string, { body: string; type: string }> = {
  'POST /v1/app/orders/query': { body: '{ "index": "t" }', type: 'application/json' },
  'PUT /v1/app/_buckets/reports/2026/january.txt': { body: 'Sold: 12', type: 'text/plain' },
}

test('every request that the text names between its blocks works too, in its order', async () => {
  const text = skill.replaceAll(/^```.*?^```$/gms, '')
  const named = Array.from(text.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)`(?: with `(\{[^`]*\})`)?/g))
  let token = ''
  for (const [, shown, body] of named) {
    const request = shown!.replace('/:db/:table', '/app/orders')
    const [method, target] = request.split(' ') as [string, string]
    const said = body === undefined ? saidInWords[request] : { body, type: 'application/json' }
    const headers: [string, string][] = said === undefined ? [] : [['Content-Type', said.type]]
    const api = target === '/api/tokens/self' ? service.server.as(token) : service.api
    const { status, text: came } = await api.raw(method, target, { headers, body: said?.body })
    if (target === '/api/tokens') token = JSON.parse(came).token
    expect(`${request} ${status} ${status < 300 ? '' : came}`).toMatch(/ 20[01] $/)
    if (request === 'DELETE /v1/app/orders') expect((await send('POST /v1/app/orders/restore')).status).toBe(200)
  }
  expect(named.length).toBe(17)
})

test('the table of errors names codes that exist, at their status, and what every status means', () => {
  const rows = Array.from(skill.matchAll(/^\| (\d{3}[^|]*) \|/gm), ([, cell]) => cell!)
  const named = rows.flatMap((cell) => {
    const [status] = /(\d{3})[^\d]*$/.exec(cell)!.slice(1)
    return Array.from(cell.matchAll(/`(\w+)`/g), ([, code]) => [code, Number(status)] as const)
  })
  expect(named.length).toBe(6)
  for (const [code, status] of named) expect([code, statusOf[code as ErrorCode]]).toEqual([code, status])
  const listed = new Set(rows.flatMap((cell) => cell.match(/\d{3}/g)!.map(Number)))
  const rare = [405, 416, 507]
  expect([...new Set(Object.values(statusOf))].filter((status) => !listed.has(status)).sort()).toEqual(rare)
})
