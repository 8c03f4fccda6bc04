import { entry } from '../catalogue-entry.ts'
import { inputOf, milliseconds, ref, type Schema } from '../schema.ts'
import { createOrganizationOperation } from './create-organization.ts'
import { deleteOrganizationOperation } from './delete-organization.ts'
import { listOrganizationsOperation } from './list-organizations.ts'
import { restoreOrganizationOperation } from './restore-organization.ts'

const id: Schema = { type: 'integer' }
const key: Schema = { type: 'string', pattern: '^svc_(live|pub)_[0-9A-Za-z]{38}$' }

const organization = (type: Schema['type']): Schema => ({
  type,
  properties: {
    id,
    name: ref('Name'),
    status: { type: 'string', enum: ['active', 'deleted'] },
    createdAt: milliseconds('When it was created.'),
    deletedAt: milliseconds('When it was deleted.'),
    recoverableUntil: milliseconds('Until when it can be restored.'),
  },
  required: ['id', 'name', 'status', 'createdAt'],
})

const named = inputOf({}, { name: { ...ref('Name'), description: 'The name of the organization.' } }, ['name'])

const createAcme = { operation: 'createOrganization', input: { name: 'acme' } } as const
const deleteAcme = { operation: 'deleteOrganization', input: { name: 'acme' } } as const

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
        organizations: { type: 'array', items: organization('object') },
      },
      required: ['organizations'],
    },
    examples: [
      {
        name: 'all',
        summary: 'All organizations',
        input: {},
        output: { organizations: [{ id: 1, name: 'default', status: 'active', createdAt: 1767139200000 }] },
      },
    ],
  }),
  deleteOrganization: entry(deleteOrganizationOperation, {
    input: named,
    output: organization(['object', 'null']),
    examples: [
      {
        name: 'delete',
        summary: 'An organization',
        given: [createAcme],
        input: { name: 'acme' },
        output: {
          ...{ id: 7, name: 'acme', status: 'deleted', createdAt: 1767398400000 },
          ...{ deletedAt: 1767484800000, recoverableUntil: 1768089600000 },
        },
      },
      {
        name: 'missing',
        summary: 'A name that no organization has',
        input: { name: 'acme' },
        output: null,
        unchanged: true,
      },
    ],
  }),
  restoreOrganization: entry(restoreOrganizationOperation, {
    input: named,
    output: organization(['object', 'null']),
    examples: [
      {
        name: 'restore',
        summary: 'A deleted organization',
        given: [createAcme, deleteAcme],
        input: { name: 'acme' },
        output: { id: 7, name: 'acme', status: 'active', createdAt: 1767398400000 },
      },
      {
        name: 'missing',
        summary: 'A name that no organization has',
        input: { name: 'acme' },
        output: null,
        unchanged: true,
      },
    ],
  }),
}
