import { type ExampleError, laterAt } from '../example.ts'

export const ada = 'ada'
export const revokedAt = laterAt

export const writtenGrant = { db: 'app', table: 'notes', hash: ada, can: 'write' }
export const adasGrants = [
  writtenGrant,
  { db: 'app', bucket: 'pictures', prefix: 'ada/', can: 'write', sizeMax: 1_000_000 },
]

export const adasToken = {
  token:
    'svc_user_Xq2mVt7aJ0c4LrKfWn9eYbZ1oGd5sHpQ3uTiCvEx6yAwRk8MzNjSlFhBgDqPIUtO2XyVr7aKe0c4LmKfWn9eYbZ1oGd5sHpQ3uTiCvEx6y',
  user: ada,
  grants: adasGrants,
  expiresAt: laterAt + 900_000,
}

export const isAKey: ExampleError = {
  code: 'not_granted',
  message: 'An API key has no grants.',
  hint: 'Send the request with a user token.',
}
