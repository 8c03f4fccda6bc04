import type {
  BucketGrant,
  CreateTokenRequest,
  CreateTokenResponse,
  ExchangeTokenRequest,
  IndexGrant,
  OwnToken,
  RevokeUserRequest,
  RevokeUserResponse,
  TaskGrant,
} from '@cubbydb/client'
import {
  dataBytesMax,
  fileBytesMax,
  grantsMax,
  keyBytesMax,
  loginTokenCharactersMax,
  tokenCharactersMax,
  tokenSecondsDefault,
  tokenSecondsMax,
  tokenSecondsMin,
  userBytesMax,
} from '../../core/limits.ts'
import { type Scalar, words } from '../../core/scalar.ts'
import { slots } from '../../core/tables/indices.ts'
import { closed, milliseconds, number, objectOf, ref, type Schema } from '../schema.ts'

export const expiresInRule = {
  type: 'integer',
  minimum: tokenSecondsMin,
  maximum: tokenSecondsMax,
  [words]: { unit: 'seconds', hint: 'Give a short time: a page asks for a new token before the end.' },
} as const satisfies Scalar

/** A value of an index. Code generators take no list of types. */
export const scalars: Schema[] = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }]

const canReadOrWrite = {
  type: 'string',
  enum: ['read', 'write'],
  description: '`write` includes `read`.',
} satisfies Schema

const sizeMax = (maximum: number, what: string): Schema => ({
  type: 'integer',
  minimum: 1,
  maximum,
  description: `The most bytes of ${what}; only with \`write\`.`,
})

const user = {
  type: 'string',
  minLength: 1,
  maxLength: userBytesMax,
  description: 'The name that your application has for this person: text without control characters.',
} satisfies Schema

const grants = {
  type: 'array',
  minItems: 1,
  maxItems: grantsMax,
  items: ref('Grant'),
  description: 'A request is allowed if one of them allows it.',
} satisfies Schema

const ownToken = {
  user,
  grants,
  expiresAt: milliseconds('When the token ends; never after the API key that it belongs to.'),
} satisfies Record<string, Schema>

const key = { type: 'string', minLength: 1, maxLength: keyBytesMax } satisfies Schema

export const tokenSchemas = {
  Grant: {
    description: 'What a user token allows. Its names need not exist.',
    oneOf: [ref('TableGrant'), ref('IndexGrant'), ref('BucketGrant'), ref('TaskGrant')],
  },
  TableGrant: {
    type: 'object',
    description: 'Records of a table.',
    properties: {
      db: ref('Name'),
      table: ref('Name'),
      hash: {
        oneOf: [
          key,
          closed(
            objectOf<{ beginsWith: string }>('Every hash key that begins so.', ['beginsWith'], { beginsWith: key }),
          ),
        ],
        description: 'The hash key, or how it begins. Absent: the whole table.',
      },
      can: canReadOrWrite,
      sizeMax: sizeMax(dataBytesMax, '`data`'),
    },
    required: ['db', 'table', 'can'],
    additionalProperties: false,
  },
  IndexGrant: closed(
    objectOf<IndexGrant>(
      'Queries of an index with one hash value: whole records, whoever wrote them.',
      ['db', 'table', 'index', 'hash', 'can'],
      {
        db: ref('Name'),
        table: ref('Name'),
        index: { type: 'string', enum: slots },
        hash: { oneOf: scalars, description: 'Compared as values of an index are.' },
        can: { type: 'string', enum: ['read'] },
      },
    ),
  ),
  BucketGrant: {
    ...closed(
      objectOf<Record<keyof BucketGrant, unknown>>('Files of a bucket.', [], {
        db: ref('Name'),
        bucket: ref('Name'),
        prefix: {
          type: 'string',
          pattern: '/$',
          minLength: 1,
          maxLength: keyBytesMax,
          description: 'How the names of the files begin. Absent: the whole bucket.',
        },
        can: canReadOrWrite,
        sizeMax: sizeMax(fileBytesMax, 'a file'),
      }),
    ),
    required: ['db', 'bucket', 'can'],
  },
  TaskGrant: closed(
    objectOf<TaskGrant>(
      'Adding runs with a `payload` alone, and reading and cancelling those that this user has added.',
      ['db', 'task', 'can'],
      { db: ref('Name'), task: ref('Name'), can: { type: 'string', enum: ['run'] } },
    ),
  ),
  CreateTokenRequest: closed(
    objectOf<CreateTokenRequest>('The user, and what the token allows.', ['user', 'grants'], {
      user,
      grants,
      expiresIn: {
        ...expiresInRule,
        description: `The time after which the token ends; ${number(tokenSecondsDefault)} if absent.`,
      },
    }),
  ),
  UserToken: objectOf<CreateTokenResponse>(
    'A user token. The service does not store it.',
    ['token', 'user', 'grants', 'expiresAt'],
    {
      token: {
        type: 'string',
        pattern: '^svc_user_[A-Za-z0-9_-]+$',
        maxLength: tokenCharactersMax,
        description: 'Sent as an API key is: `Authorization: Bearer svc_user_…`.',
      },
      ...ownToken,
    },
  ),
  OwnToken: objectOf<OwnToken>('What the calling token allows.', ['user', 'grants', 'expiresAt'], ownToken),
  ExchangeTokenRequest: closed(
    objectOf<ExchangeTokenRequest>('The login of a person.', ['token'], {
      token: {
        type: 'string',
        maxLength: loginTokenCharactersMax,
        description: 'The signed JWT that the login service has given to the page.',
      },
    }),
  ),
  RevokeUserRequest: closed(objectOf<RevokeUserRequest>('The user whose tokens end.', ['user'], { user })),
  RevokedUser: objectOf<RevokeUserResponse>('The tokens have ended.', ['user', 'revokedAt'], {
    user,
    revokedAt: milliseconds('The time of the revocation.'),
  }),
} satisfies Record<string, Schema>
