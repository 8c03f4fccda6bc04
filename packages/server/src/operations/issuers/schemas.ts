import type { DeleteIssuerResponse, ListIssuersResponse } from '@cubbydb/client'
import {
  fileBytesMax,
  grantsMax,
  issuerKeysMax,
  issuersMax,
  issuerTextBytesMax,
  pushUrlCharactersMax,
} from '../../core/limits.ts'
import { slots } from '../../core/tables/indices.ts'
import { closed, freeObject, inputOf, milliseconds, objectOf, ref, type Schema } from '../schema.ts'
import { scalars } from '../tokens/schemas.ts'

const text = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: issuerTextBytesMax,
  description,
})

const template = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  description: `${description} \`{claim}\` stands for a claim of the login token.`,
})

const source = {
  keys: objectOf<{ keys: object[] }>('A JSON Web Key Set with the public keys.', ['keys'], {
    keys: {
      type: 'array',
      minItems: 1,
      maxItems: issuerKeysMax,
      items: freeObject('A public key: RSA of 2,048 to 4,096 bits, EC with the curve P-256, or OKP with Ed25519.'),
    },
  }),
  keysUrl: {
    type: 'string',
    maxLength: pushUrlCharactersMax,
    description:
      'The https URL of the key set. It is fetched when a login token is exchanged, and kept for 10 minutes.',
  },
} satisfies Record<string, Schema>

const declared = {
  issuer: text('The claim `iss` of the login tokens.'),
  audience: text('The claim `aud` of the login tokens, or one of its values.'),
  user: {
    ...template('The user of the tokens; `<name>:{sub}` if absent. `{{` is a brace.'),
    maxLength: issuerTextBytesMax,
  },
  grants: { type: 'array', minItems: 1, maxItems: grantsMax, items: ref('IssuerGrant') },
} satisfies Record<string, Schema>

const required = ['issuer', 'audience', 'grants']

const form = (description: string, name: keyof typeof source): Schema => ({
  type: 'object',
  description,
  properties: {
    issuer: declared.issuer,
    audience: declared.audience,
    [name]: source[name],
    user: declared.user,
    grants: declared.grants,
  },
  required: [...required, name],
  additionalProperties: false,
})

const name = { ...ref('Name'), description: 'The name of the issuer in the organization.' } satisfies Schema

export const issuerSchemas = {
  IssuerGrant: {
    type: 'object',
    description: 'A grant of the tokens, with claims in `db`, `hash` and `prefix`.',
    properties: {
      db: template('The database.'),
      table: ref('Name'),
      bucket: ref('Name'),
      task: ref('Name'),
      hash: {
        description:
          'The hash key, how it begins, or the hash value of the index. `{claim}` stands for a claim of the login token.',
        oneOf: [
          ...scalars,
          closed(
            objectOf<{ beginsWith: string }>('Every hash key that begins so.', ['beginsWith'], {
              beginsWith: { type: 'string', minLength: 1 },
            }),
          ),
        ],
      },
      index: { type: 'string', enum: slots },
      prefix: { ...template('How the names of the files begin.'), pattern: '/$' },
      can: { type: 'string', enum: ['read', 'write', 'run'] },
      sizeMax: {
        type: 'integer',
        minimum: 1,
        maximum: fileBytesMax,
        description: 'The most bytes of `data` or of a file; only with `write`.',
      },
    },
    required: ['db', 'can'],
    additionalProperties: false,
  },
  IssuerWithKeys: form('An issuer with its public keys.', 'keys'),
  IssuerWithKeysUrl: form('An issuer with the address of its public keys.', 'keysUrl'),
  PutIssuerRequest: {
    description: 'A login service, with its public keys or the address of them.',
    oneOf: [ref('IssuerWithKeys'), ref('IssuerWithKeysUrl')],
  },
  Issuer: {
    type: 'object',
    description: 'A login service whose tokens are exchanged.',
    properties: {
      name,
      ...{
        issuer: declared.issuer,
        audience: declared.audience,
        ...source,
        user: declared.user,
        grants: declared.grants,
      },
      createdAt: milliseconds('When the issuer was added.'),
      updatedAt: milliseconds('The last change.'),
    },
    required: ['name', ...required, 'user', 'createdAt', 'updatedAt'],
  },
  IssuerList: objectOf<ListIssuersResponse>('Issuers by name.', ['issuers'], {
    issuers: { type: 'array', maxItems: issuersMax, items: ref('Issuer') },
  }),
  DeletedIssuer: objectOf<DeleteIssuerResponse>('The issuer is gone.', ['deleted'], {
    deleted: { type: 'boolean', description: 'False if there was none.' },
  }),
} satisfies Record<string, Schema>

const { IssuerWithKeys, IssuerWithKeysUrl } = issuerSchemas

/** The input of an operation that takes nothing but the name. */
export const nameAlone = inputOf({}, { name }, ['name'])

export const putIssuerInput: Schema = {
  type: 'object',
  oneOf: [IssuerWithKeys, IssuerWithKeysUrl].map((one) => inputOf(one, { name }, ['name'])),
}
