import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { CubbyError } from '../../src/core/errors.ts'
import { type Hint, type HintLanguage, hintText } from '../../src/core/hint.ts'
import { openEngine } from '../../src/engines/open-engine.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'
import type { Access } from '../../src/operations/access.ts'
import { type CatalogueEntry, catalogue, codesOf, inputMembers } from '../../src/operations/catalogue.ts'
import { type Example, type ExampleCall, exampleStore } from '../../src/operations/example.ts'
import { pathNames } from '../../src/operations/parse-input.ts'
import { schemas } from '../../src/operations/schemas.ts'
import type { Engine } from '../../src/store/engine.ts'
import { type Json, makeTempDir, removeTempDir } from '../harness.ts'
import { Stage } from '../openapi/stage.ts'
import { loginServices, taskServices } from '../task-services.ts'
import { schemaFaults } from './schema-faults.ts'

// An adapter other than HTTP has only the catalogue. So these tests use nothing else: they call each operation with the
// JSON of its examples and compare the result with them.

setDefaultTimeout(120_000)

const entries: Record<string, CatalogueEntry> = catalogue()
let nowMs = 1_800_000_000_000

/** All that an adapter does. */
const call = async (access: Access, { operation, input }: ExampleCall, stage: Stage): Promise<Json> => {
  const entry = entries[operation]!
  nowMs += 1_000
  const parsed = entry.parse(stage.translateBody(input)!, nowMs)
  return JSON.parse(entry.present(await entry.run(access, parsed, nowMs), nowMs))
}

/** A language with nothing in it that HTTP or a shell would say. */
const plain: HintLanguage = {
  call: (suggested) => JSON.stringify(suggested),
  send: (members) => JSON.stringify(members),
  give: (member) => `give ${member}`,
  repeatLater: 'later',
}

const shown = (error: { code: string; message: string; field?: string; hint?: Hint }): Json => {
  const { code, message, field, hint } = error
  return { code, message, ...(field && { field }), ...(hint && { hint: hintText(hint, plain) }) }
}

const dir = makeTempDir()
let engine: Engine
beforeAll(async () => {
  engine = await openEngine({ data: dir, store: undefined }, { role: 'owner' })
})
afterAll(async () => {
  await engine.close()
  removeTempDir(dir)
})

let organizations = 0
/** Each example gets an organization of its own. */
const makeAccess = async (store: Engine, name = `org-${++organizations}`): Promise<Access> => {
  const { kept, text } = makeApiKey({ kind: 'secret' })
  await store.organizations.create(name, [kept], nowMs)
  const apiKey = (await store.apiKeys.find(text))!
  return {
    engine: store,
    apiKey,
    blobStore: new DirectoryBlobStore(join(dir, 'files', name)),
    tasks: taskServices(store),
    logins: loginServices,
  }
}

const replay = async (
  access: Access,
  id: string,
  { name, given = [], input, output, error }: Example,
): Promise<void> => {
  const stage = new Stage()
  for (const step of [...exampleStore, ...given]) {
    const came = await call(access, step, stage)
    if (step.output !== undefined) stage.expectSame(step.output, came, `before ${id} ${name}: ${step.operation}`)
  }
  const at = `${id} ${name}`
  try {
    const came = await call(access, { operation: id, input }, stage)
    stage.expectSame(output, came, at)
    expect([at, ...schemaFaults(entries[id]!.output, came)]).toEqual([at])
  } catch (fault) {
    if (!(fault instanceof CubbyError) || error === undefined) throw fault
    expect(codesOf(entries[id]!)).toContain(fault.code)
    stage.expectSame(shown(error), shown(fault as never), at)
  }
}

/** The commands of an operator concern the whole store, and some answers name the organization. */
const replayAlone = async (id: string, example: Example): Promise<void> => {
  const own = makeTempDir()
  const store = await openEngine({ data: own, store: undefined }, { role: 'owner' })
  try {
    await replay(await makeAccess(store, 'default'), id, example)
  } finally {
    await store.close()
    removeTempDir(own)
  }
}

for (const [id, { examples, keyNeeded }] of Object.entries(entries)) {
  // Only a transport can carry these wishes for the answer.
  for (const example of examples.filter(({ wants }) => wants === undefined)) {
    test(`${id}, example ${example.name}: ${example.error?.code ?? 'done'}, as shown`, async () => {
      const isAlone = keyNeeded === 'operator' || JSON.stringify(example.output ?? null).includes('"default"')
      return isAlone ? replayAlone(id, example) : replay(await makeAccess(engine), id, example)
    })
  }
}

describe('every entry', () => {
  test('has its own id as its name, and everything that an adapter needs', () => {
    for (const [id, entry] of Object.entries(entries)) {
      expect([id, entry.id, entry.input.type, entry.examples.length > 0]).toEqual([id, id, 'object', true])
      for (const text of [entry.summary, entry.description, entry.returns]) expect(text).toMatch(/^[A-Z]/)
      // A token is not stored.
      const storesNothing = /^(list|get|find|describe|query|read)|^(create|exchange)Token$/.test(id)
      expect([id, entry.effect === 'reads']).toEqual([id, storesNothing])
    }
  })

  const withoutMethods = (text: string): string => text.replaceAll(/\\?"(GET|PUT)\\?"/g, '')

  test('says nothing of HTTP or of the shell', () => {
    for (const entry of Object.values(entries)) {
      const { summary, description, returns, input, output, examples } = entry
      // The method of a URL is a value of the operation, in quotes.
      const text = withoutMethods(JSON.stringify([summary, description, returns, input, output, examples]))
      expect([
        entry.id,
        /\/v1|\/api|\b(GET|PUT|POST|DELETE|HTTP|header|path|If-Match)\b|\b[1-5]\d\d `/.exec(text)?.[0],
      ]).toEqual([entry.id, undefined])
    }
    expect(withoutMethods(JSON.stringify(schemas))).not.toMatch(/\/v1|\/api|\b(GET|PUT|POST|DELETE)\b/)
  })

  test('accepts the input of its examples, except in the examples of invalid input', () => {
    for (const { id, input: schema, examples } of Object.values(entries)) {
      for (const { name, input, error } of examples) {
        if (error === undefined) expect([id, name, ...schemaFaults(schema, input)]).toEqual([id, name])
      }
    }
  })

  test('that a key lets in has a route, and the parts of a request carry its whole input and no more', () => {
    const routed = Object.values(entries).filter(({ keyNeeded }) => keyNeeded !== 'operator')
    expect(routed.filter(({ route }) => route === undefined)).toEqual([])
    expect(Object.values(entries).filter(({ route, keyNeeded }) => route && keyNeeded === 'operator')).toEqual([])
    const fieldsOf = (name: string): string[] => inputMembers({ input: (schemas as Json)[name] } as CatalogueEntry)
    const formsOf = (name: string): string[] => {
      const { oneOf, anyOf, properties } = (schemas as Json)[name]
      const forms = oneOf ?? (properties === undefined ? anyOf : undefined) ?? []
      return forms.flatMap(({ $ref }: Json) => fieldsOf($ref.split('/').at(-1)))
    }
    for (const { id, route } of routed) {
      const { path, query = [], body, bytes, bytesType } = route!
      const carried = [
        ...pathNames(path),
        ...query,
        ...(body === undefined
          ? []
          : body.member === undefined
            ? [...fieldsOf(body.schema), ...formsOf(body.schema)]
            : [body.member]),
        // The type of the bytes of a file is a header.
        ...(bytes === undefined ? [] : [bytes]),
        ...(bytes === undefined || bytesType !== undefined ? [] : ['contentType']),
      ]
      const members = inputMembers(entries[id]!).filter((member) => member !== 'ifUpdatedAt')
      expect([id, ...new Set(carried)].sort()).toEqual([id, ...members].sort())
    }
  })
})
