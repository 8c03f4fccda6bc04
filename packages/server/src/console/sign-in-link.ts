import type { ApiKeyRequest } from '../core/api-keys/api-key.ts'
import { consolePath } from '../http/console-endpoint.ts'

// A link to the console with a key in its fragment, which browsers do not send to servers. They keep it in their history,
// though. So the key is made for the link alone and expires soon; the console exchanges it for one of its own.

export const linkMinutes = 15

export const linkKeyRequest = (nowMs: number): ApiKeyRequest => ({
  kind: 'secret',
  name: 'console sign-in link',
  isLink: true,
  expiresAtMs: nowMs + linkMinutes * 60_000,
})

export const consoleUrl = (baseUrl: string): string => `${baseUrl}${consolePath}`

export const signInLink = (baseUrl: string, key: string): string => `${consoleUrl(baseUrl)}#key=${key}`
