import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CommandResult,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { makeTable } from '../http/service.ts'

// A check that never finds anything is worthless. Each case damages a good store without the server's knowledge and expects
// a finding.

setDefaultTimeout(120_000)

describe.skipIf(!storeIsEmbedded())('verify', () => {
  let server: Server
  let work: string
  beforeAll(async () => {
    work = makeTempDir()
    server = await startServer({ dataDir: join(work, 'sound') })
    const { secretKey } = await server.createOrganization('acme')
    const indices = { i1: { hashField: 'city', rangeField: 'age' }, i2: { hashField: 'age' } }
    const table = await makeTable(server.as(secretKey), indices, 'people')
    await table.fill(
      Array.from({ length: 200 }, (_, i) => ({
        hashKey: `person ${i}`,
        data: { city: ['Oslo', 'Rome'][i % 2], age: i, note: 'x'.repeat(200) },
      })),
    )
  })
  afterAll(async () => {
    if (server !== undefined) await server.stop()
    removeTempDir(work)
  })

  const verify = (dir: string, ...more: string[]): Promise<CommandResult> =>
    runCubby(['verify', '--data', dir, ...more])

  test('a good store, while its server is running: exit 0 and one line', async () => {
    const { exitCode, stdout, stderr } = await verify(server.dataDir)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^[^\n]+\n$/)
    const json = await verify(server.dataDir, '--json')
    expect(json.exitCode).toBe(0)
    expect(JSON.parse(json.stdout)).toEqual({ ok: true, findings: [] })
  })

  test('no store there: exit 1 and one line, and none is made', async () => {
    const dir = join(work, 'none')
    const { exitCode, stdout, stderr } = await verify(dir)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  })

  describe('exit 1 and one line per finding', () => {
    let copies = 0
    /** A copy of the sound store in one file, for one case to spoil. */
    const copyStore = (): { dir: string; file: string } => {
      const dir = join(work, `copy-${++copies}`)
      const file = join(dir, 'cubby.db')
      mkdirSync(dir)
      const sound = new Database(join(server.dataDir, 'cubby.db'))
      sound.run(`VACUUM INTO '${file}'`)
      sound.close()
      return { dir, file }
    }

    /** Changes the store directly, which nobody should do. */
    const tamper = (file: string, ...statements: string[]): void => {
      const db = new Database(file)
      for (const statement of statements) expect(db.run(statement).changes).toBeGreaterThan(0)
      db.close()
    }

    /** Its findings; `tables` are those that the summary has to name, as people read them. */
    const findings = async (dir: string, tables = ['app/people of acme']): Promise<string[]> => {
      const plain = await verify(dir)
      expect(plain.exitCode).toBe(1)
      const [what, next, ...rest] = plain.stderr.trimEnd().split('\n')
      const named = tables.length === 0 ? 'no table could be named' : `damaged tables: ${tables.join(', ')}`
      expect(what).toMatch(/^cubby: [0-9]+ findings? in /)
      expect(what).toEndWith(`${dir}; ${named}`)
      expect(next).toMatch(/^cubby: .*restore the last good backup/)
      expect(rest).toEqual([])
      const lines = plain.stdout.trimEnd().split('\n')
      const json = await verify(dir, '--json')
      expect(json.exitCode).toBe(1)
      const { summary, ...found } = JSON.parse(json.stdout)
      expect(found).toEqual({ ok: false, findings: lines })
      expect(summary).toEqual({ tables: expect.any(Array), next: next!.slice('cubby: '.length) })
      expect(summary.tables.map(shown)).toEqual(tables)
      for (const line of lines) expect(line).toMatch(/\S/)
      return lines
    }

    const shown = ({ id, organization, db, table }: Record<string, unknown>): string =>
      db === null ? `table ${id}` : `${db}/${table} of ${organization ?? 'an unknown organization'}`

    test('no secret, or one that is too short', async () => {
      const [none, short] = [copyStore(), copyStore()]
      tamper(none.file, 'DELETE FROM secrets')
      tamper(short.file, `UPDATE secrets SET secret = x'00'`)
      expect(await findings(none.dir, [])).toEqual(['the store has no secret for cursors and signed URLs'])
      expect(await findings(short.dir, [])).toEqual(['a secret of the store has 1 bytes, not 32'])
    })

    const person7 = "hash_key = CAST('person 7' AS BLOB)"

    test('an index value that its record does not have', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET i1_hash = CAST('elsewhere' AS BLOB) WHERE ${person7}`)
      const lines = await findings(dir)
      expect(lines.length).toBe(1)
      expect(lines[0]).toContain('person 7')
      expect(lines[0]).toContain('i1')
    })

    test('an index range that its record does not have', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET i1_range = i1_hash WHERE ${person7}`)
      expect(await findings(dir)).toEqual([expect.stringMatching(/person 7.*i1/)])
    })

    test('a record that is missing from its index', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET i2_hash = NULL, i2_range = NULL WHERE ${person7}`)
      expect(await findings(dir)).toEqual([expect.stringMatching(/person 7.*i2/)])
    })

    test('a record in an index that its table does not declare', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET i5_hash = i1_hash, i5_range = i1_range WHERE ${person7}`)
      expect(await findings(dir)).toEqual([expect.stringMatching(/person 7.*i5/)])
    })

    test('data that was changed under its index values', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET data = '{"city":"Paris","age":7}' WHERE ${person7}`)
      expect(await findings(dir)).toEqual([
        expect.stringMatching(/person 7.*has no checksum/),
        expect.stringMatching(/person 7.*i1/),
      ])
    })

    for (const column of ['data = replace(data, \'"age"\', \'"agf"\')', 'updated_at = updated_at + 1', 'ttl = 7']) {
      test(`a record that is not as it was written: ${column}`, async () => {
        const { dir, file } = copyStore()
        tamper(file, `UPDATE records SET ${column} WHERE ${person7}`)
        expect((await findings(dir))[0]).toMatch(/person 7.*checksum does not match/)
      })
    }

    test('a record under a key that is not its own', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET hash_key = CAST('person 7b' AS BLOB) WHERE ${person7}`)
      expect(await findings(dir)).toEqual([expect.stringMatching(/person 7b.*checksum does not match/)])
    })

    test('data that is not JSON', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET data = '{"city":' WHERE ${person7}`)
      expect(await findings(dir)).toEqual([
        expect.stringMatching(/person 7.*checksum does not match/),
        expect.stringMatching(/person 7.*not JSON/),
      ])
    })

    test('an orphaned record', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE records SET table_id = 4711 WHERE ${person7}`)
      expect(await findings(dir, ['table 4711'])).toEqual([
        expect.stringMatching(/4711.*person 7.*checksum does not match/),
        expect.stringMatching(/4711.*person 7.*table does not exist/),
      ])
    })

    test('each of several findings has its own line', async () => {
      const { dir, file } = copyStore()
      tamper(
        file,
        `UPDATE records SET i1_hash = CAST('x' AS BLOB) WHERE hash_key < CAST('person 12' AS BLOB)`,
        'UPDATE records SET table_id = 4711 WHERE id IN (SELECT id FROM records ORDER BY id DESC LIMIT 3)',
      )
      const db = new Database(file)
      const { n } = db
        .query<{ n: number }, []>("SELECT count(*) AS n FROM records WHERE i1_hash = CAST('x' AS BLOB)")
        .get()!
      db.close()
      expect((await findings(dir, ['app/people of acme', 'table 4711'])).length).toBe(n + 2 * 3)
    })

    test('a table and a key that belong to no organization', async () => {
      const { dir, file } = copyStore()
      tamper(file, 'UPDATE tables SET org_id = 99', 'UPDATE api_keys SET org_id = 99 WHERE seq = 1')
      const lines = await findings(dir, ['app/people of an unknown organization'])
      expect(lines.filter((line) => line.includes('organization')).length).toBe(2)
    })

    test('an id that could be given out twice', async () => {
      const { dir, file } = copyStore()
      tamper(file, `UPDATE meta SET value = 1 WHERE name = 'next_record_id'`)
      expect((await findings(dir, [])).length).toBe(1)
    })

    test("an entry of SQLite's index that is not its row's", async () => {
      const { dir, file } = copyStore()
      changePage(file, firstLeaf(file, 'records_by_i1'), (page) => {
        const at = page.lastIndexOf('Oslo')
        expect(at).toBeGreaterThan(0)
        page.write('Oslp', at)
      })
      const lines = await findings(dir)
      expect(lines.some((line) => line.includes('records_by_i1'))).toBe(true)
    })

    for (const what of ['records', 'records_by_key', 'records_by_i1', 'tables', 'api_keys']) {
      test(`a corrupted page of ${what}`, async () => {
        const { dir, file } = copyStore()
        spoilRoot(file, what)
        const tables = what.startsWith('records') ? undefined : []
        expect((await findings(dir, tables)).some((line) => line.includes(`(${what})`))).toBe(true)
      })
    }

    test('a corrupted page below the root', async () => {
      const { dir, file } = copyStore()
      changePage(file, firstLeaf(file, 'records'), (page) => page.fill(0xff, 1_500, 3_500))
      expect((await findings(dir)).length).toBeGreaterThan(1)
    })

    test('a file that is no database', async () => {
      const { dir, file } = copyStore()
      await Bun.write(file, 'not a store '.repeat(1000))
      expect(await findings(dir, [])).toEqual([expect.stringMatching(/cubby\.db is damaged or not a Cubby store/)])
    })
  })
})

const pageBytes = 4_096

const rootPage = (file: string, name: string): number => {
  const db = new Database(file, { readonly: true })
  const root = db.query<{ rootpage: number }, [string]>('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name)!
  db.close()
  return root.rootpage
}

/** Reads a page, lets `change` at it and writes it back. */
const changePage = (file: string, number: number, change: (page: Buffer) => void): void => {
  const handle = openSync(file, 'r+')
  const page = Buffer.alloc(pageBytes)
  const offset = (number - 1) * pageBytes
  readSync(handle, page, 0, pageBytes, offset)
  change(page)
  writeSync(handle, page, 0, pageBytes, offset)
  closeSync(handle)
}

/** Damages a page as rotting bits would: a third of the bytes of the page where a table or index begins. */
const spoilRoot = (file: string, name: string): void =>
  changePage(file, rootPage(file, name), (page) => {
    for (let i = 0; i < pageBytes; i += 3) page[i] = page[i]! ^ 0x5a
  })

/** The first page of a table or index that has no pages below. */
const firstLeaf = (file: string, name: string): number => {
  let number = rootPage(file, name)
  for (let inner = true; inner; ) {
    changePage(file, number, (page) => {
      // Types 2 and 5 are inner pages; their cells begin with the number of a page below (SQLite's file format, 1.6).
      inner = page[0] === 2 || page[0] === 5
      if (inner) number = page.readUInt32BE(page.readUInt16BE(12))
    })
  }
  return number
}
