import packageJson from '../../package.json' with { type: 'json' }
import { prefersHtml } from './accept.ts'
import { consolePath } from './console-endpoint.ts'
import { mcpPath } from './mcp-endpoint.ts'
import { respondEntryPoint, respondRedirect } from './respond.ts'

// `GET /`: where everything else is, for programs and agents. Browsers are sent to the console, or else to the docs.

/** A name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
const plainHost = /^(?:[A-Za-z0-9._~-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/

/**
 * The address at which the caller reached us. `Host` is the caller's own text, so only a plain one is repeated; without one
 * it is the address that the server listens on.
 */
export const baseUrl = (publicUrl: string | undefined, host: string | null, ownUrl: string): string => {
  if (publicUrl !== undefined) return publicUrl
  return host !== null && plainHost.test(host) ? `http://${host}` : ownUrl
}

interface Parts {
  hasConsole: boolean
  hasMcp: boolean
}

export const entryPoint = (publicUrl: string | undefined, { hasConsole, hasMcp }: Parts) => {
  // The redirect needs the path that a proxy adds.
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  const home = prefix + (hasConsole ? consolePath : '/docs')
  return (requestId: string, { headers }: Request, ownUrl: string): Response => {
    if (prefersHtml(headers.get('accept'))) return respondRedirect(requestId, home)
    const base = baseUrl(publicUrl, headers.get('host'), ownUrl)
    const { version } = packageJson
    return respondEntryPoint(requestId, {
      name: 'Cubby',
      version,
      docs: `${base}/docs`,
      openapi: `${base}/openapi.json`,
      ...(hasConsole && { console: `${base}${consolePath}` }),
      skill: `${base}/SKILL.md`,
      llms: `${base}/llms.txt`,
      ...(hasMcp && { mcp: `${base}${mcpPath}` }),
    })
  }
}
