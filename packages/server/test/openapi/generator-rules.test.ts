import { describe, expect, test } from 'bun:test'
import { makeDocument } from '../../src/openapi/document.ts'
import type { Json } from '../harness.ts'
import * as rules from './generator-rules.ts'

// The document is for programs that write programs. What they stumble over is listed in generator-rules.ts, a rule each.

const makeJson = (): Json => JSON.parse(JSON.stringify(makeDocument()))

/** A change to the document that the rule must notice, and the place that it must name. */
const faults: Record<keyof typeof rules, [plant: (document: Json) => void, place: string][]> = {
  objectsSayTheirMembers: [
    [({ components }) => delete components.schemas.PutRecordRequest.properties.data.additionalProperties, 'data'],
    [({ components }) => Object.assign(components.schemas, { Anything: { type: ['object', 'null'] } }), 'Anything'],
  ],
  noDefaultInBodies: [
    [({ components }) => (components.schemas.PrimaryQuery.properties.limit.default = 100), 'limit'],
    [({ components }) => (components.schemas.IndexDeclaration.properties.hashField.default = 'a'), 'hashField'],
  ],
  noConstInHeaders: [
    [({ components }) => (components.headers['Cache-Control'].schema.const = 'no-cache'), 'Cache-Control'],
    [({ paths }) => paths['/v1'].get.parameters.push(header('If-None-Match', { const: '*' })), 'If-None-Match'],
  ],
  oneTypeBesidesNull: [
    [({ components }) => (components.schemas.IndexValue.type = ['string', 'number']), 'IndexValue'],
    [({ paths }) => paths['/v1'].get.parameters.push(header('A', { type: ['string', 'number', 'null'] })), 'paths'],
  ],
  schemaNamesAreFree: [
    [({ components }) => (components.schemas.ListTablesResponse = {}), 'ListTablesResponse'],
    [({ components }) => (components.schemas.PutRecordParams = {}), 'PutRecordParams'],
    [({ components }) => (components.schemas.Record = {}), 'Record'],
    [({ components }) => (components.schemas.Limit = {}), 'Limit'],
    [({ components }) => (components.schemas.Unavailable = {}), 'Unavailable'],
  ],
  noParameterTwice: [
    [
      ({ paths }) => (paths['/v1/{db}/{table}'].parameters = [{ $ref: '#/components/parameters/table' }]),
      'describeTable path table',
    ],
    [({ paths }) => paths['/v1'].get.parameters.push(header('A', {}), header('A', {})), 'header A'],
  ],
  oneErrorSchema: [
    [
      ({ components }) =>
        (components.responses.Unauthorized.content['application/json'].schema = {
          allOf: [{ $ref: '#/components/schemas/Error' }],
        }),
      'listTables 401',
    ],
  ],
  noHeaderEverywhere: [
    [({ paths }) => (paths['/v1'].parameters = [header('X-Request-Id', {})]), 'X-Request-Id'],
    [
      ({ paths }) => {
        for (const item of Object.values<Json>(paths)) item.parameters = [header('X-Trace', {})]
      },
      'X-Trace',
    ],
  ],
  noSpecialCases: [
    [
      ({ paths }) =>
        (paths['/v1/{db}/{table}/query'].get = {
          ...paths['/v1/{db}/{table}/{hashKey}'].get,
          operationId: 'getRecordNamedQuery',
        }),
      'getRecordNamedQuery',
    ],
  ],
  documents431: [[({ paths }) => delete paths['/v1'].get.responses[431], 'listDatabases']],
  integersHaveBounds: [
    [({ components }) => delete components.schemas.ActiveTable.properties.createdAt.maximum, 'createdAt'],
    [({ components }) => delete components.headers['Retry-After'].schema.minimum, 'Retry-After'],
    [({ components }) => delete components.schemas.CreateKeyRequest.properties.expiresAt.maximum, 'expiresAt'],
    [({ paths }) => paths['/v1'].get.parameters.push(header('A', { type: 'integer' })), 'paths'],
  ],
  cursorsHavePatterns: [
    [({ components }) => delete components.schemas.RecencyQuery.properties.cursor.pattern, 'cursor'],
    [({ components }) => delete components.parameters.cursor.schema.pattern, 'listDatabases cursor'],
  ],
}

const header = (name: string, schema: Json): Json => ({ name, in: 'header', schema: { type: 'string', ...schema } })

for (const [name, rule] of Object.entries<rules.Rule>(rules)) {
  const planted = faults[name as keyof typeof rules]
  describe(name, () => {
    test('holds for the document', () => {
      expect(rule(makeJson())).toEqual([])
    })

    for (const [i, [plant, place]] of planted.entries()) {
      test(`notices fault ${i + 1}, at ${place}`, () => {
        const document = makeJson()
        plant(document)
        expect(rule(document).join('\n')).toContain(place)
      })
    }
  })
}
