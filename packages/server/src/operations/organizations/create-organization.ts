import { makeApiKey } from '../../core/api-keys/api-key.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { id, key } from './schemas.ts'

interface CreateOrganizationInput {
  name: string
}

interface NewOrganization {
  organization: Organization
  secretKey: string
  publicKey: string
}

/** undefined if the name is taken. Only this answer ever contains the first keys. */
export const createOrganization = async (
  { engine }: { engine: Engine },
  { name }: CreateOrganizationInput,
  nowMs: number,
): Promise<NewOrganization | undefined> => {
  const secret = makeApiKey({ kind: 'secret' })
  const open = makeApiKey({ kind: 'public' })
  const organization = await engine.organizations.create(name, [secret.kept, open.kept], nowMs)
  return organization && { organization, secretKey: secret.text, publicKey: open.text }
}

export const presentNewOrganization = ({ organization: { id, name }, secretKey, publicKey }: NewOrganization) => ({
  id,
  name,
  secretKey,
  publicKey,
})

export const createOrganizationOperation = defineOperation({
  id: 'createOrganization',
  area: 'organizations',
  summary: 'Create an organization with its first secret and public key',
  keyNeeded: 'operator',
  grants: 'none',
  effect: 'writes',
  parse(text): CreateOrganizationInput {
    const members = parsePlainBody(text)
    refuseUnknownMembers(members, ['name'])
    return { name: parseName(members.name, 'name') }
  },
  run: createOrganization,
  present: (made) => (made === undefined ? 'null' : JSON.stringify(presentNewOrganization(made))),
  describe: () => ({
    description: 'The keys are shown only in this answer: the store keeps their hashes.',
    returns: 'The organization and its keys; null if the name is taken.',
    codes: [],
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
})
