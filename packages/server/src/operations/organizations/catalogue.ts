import { entry } from '../catalogue-entry.ts'
import { inputOf, milliseconds, ref, type Schema } from '../schema.ts'
import { createOrganizationOperation } from './create-organization.ts'
import { listOrganizationsOperation } from './list-organizations.ts'

const id: Schema = { type: 'integer' }
const key: Schema = { type: 'string', pattern: '^svc_(live|pub)_[0-9A-Za-z]{38}$' }

export const organizationCatalogue = {
  createOrganization: entry(createOrganizationOperation, {
    input: inputOf({}, { name: { ...ref('Name'), description: 'A name that no other organization has.' } }, ['name']),
    output: {
      type: ['object', 'null'],
      properties: { id, name: ref('Name'), secretKey: key, publicKey: key },
      required: ['id', 'name', 'secretKey', 'publicKey'],
    },
    examples: [
      {
        name: 'create',
        summary: 'An organization',
        input: { name: 'acme' },
        output: {
          id: 7,
          name: 'acme',
          // No real keys: their checksums are wrong.
          secretKey: 'svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv',
          publicKey: 'svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz',
        },
      },
      {
        name: 'nameTaken',
        summary: 'A name that is taken',
        given: [{ operation: 'createOrganization', input: { name: 'acme' } }],
        input: { name: 'acme' },
        output: null,
        unchanged: true,
      },
    ],
  }),
  listOrganizations: entry(listOrganizationsOperation, {
    input: inputOf({}, {}),
    output: {
      type: 'object',
      properties: {
        organizations: {
          type: 'array',
          items: {
            type: 'object',
            properties: { id, name: ref('Name'), createdAt: milliseconds('When it was created.') },
            required: ['id', 'name', 'createdAt'],
          },
        },
      },
      required: ['organizations'],
    },
    examples: [
      {
        name: 'all',
        summary: 'All organizations',
        input: {},
        output: { organizations: [{ id: 1, name: 'default', createdAt: 1767139200000 }] },
      },
    ],
  }),
}
