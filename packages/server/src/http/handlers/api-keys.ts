import { createApiKey, createApiKeyOperation, parseCreateApiKey } from '../../operations/api-keys/create-api-key.ts'
import { describeOwnApiKey, describeOwnApiKeyOperation } from '../../operations/api-keys/describe-own-api-key.ts'
import { listApiKeys, listApiKeysOperation } from '../../operations/api-keys/list-api-keys.ts'
import { revokeApiKey, revokeApiKeyOperation } from '../../operations/api-keys/revoke-api-key.ts'
import { refuseBody } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { respondLongText, respondText } from '../respond.ts'
import { keyOf, readListing, readMembers, refuseExtras } from './gather.ts'

export const apiKeyHandlers = {
  async createApiKey(exchange: Exchange): Promise<Response> {
    const members = await readMembers(exchange)
    refuseExtras(exchange)
    const { access, nowMs } = exchange
    const made = await createApiKey(access, parseCreateApiKey(members, nowMs), nowMs)
    return respondText(exchange.requestId, createApiKeyOperation.present(made, nowMs), 201)
  },

  async listApiKeys(exchange: Exchange): Promise<Response> {
    const page = await listApiKeys(exchange.access, readListing(exchange), exchange.nowMs)
    return respondLongText(exchange, listApiKeysOperation.present(page, exchange.nowMs))
  },

  async describeOwnApiKey(exchange: Exchange): Promise<Response> {
    refuseExtras(exchange)
    const own = await describeOwnApiKey(exchange.access)
    return respondText(exchange.requestId, describeOwnApiKeyOperation.present(own, exchange.nowMs))
  },

  async revokeApiKey(exchange: Exchange): Promise<Response> {
    const id = keyOf(exchange, 'id')
    refuseBody(exchange.request.headers)
    refuseExtras(exchange)
    const { access, nowMs } = exchange
    return respondText(
      exchange.requestId,
      revokeApiKeyOperation.present(await revokeApiKey(access, { id }, nowMs), nowMs),
    )
  },
}
