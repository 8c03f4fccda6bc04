import type { Api, Json } from '../harness.ts'
import { ok } from './service.ts'

/** A caller with a token of this user, made by the caller `api`. */
export const asUser = async (api: Api, user: string, grants: Json[], expiresIn = 3_600): Promise<Api> => {
  const { token } = ok(await api.post('/api/tokens', { user, grants, expiresIn }), 201)
  return api.server.as(token)
}
