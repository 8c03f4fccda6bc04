import { inputOf, milliseconds, ref, type Schema } from '../schema.ts'

export const id: Schema = { type: 'integer' }
export const key: Schema = { type: 'string', pattern: '^svc_(live|pub)_[0-9A-Za-z]{38}$' }

export const organization = (type: Schema['type']): Schema => ({
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

export const named = inputOf({}, { name: { ...ref('Name'), description: 'The name of the organization.' } }, ['name'])

export const createAcme = { operation: 'createOrganization', input: { name: 'acme' } } as const
export const deleteAcme = { operation: 'deleteOrganization', input: { name: 'acme' } } as const
