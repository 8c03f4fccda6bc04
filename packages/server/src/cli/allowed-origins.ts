import { type Flag, UsageError } from './arguments.ts'

export const allowedOriginsFlag: Flag = {
  type: 'string',
  value: 'ORIGIN,…',
  help: 'web pages of other origins that may call /mcp (public keys only)',
}

/** As browsers send them: scheme and host, without a path. */
export const parseAllowedOrigins = (text: string | undefined): readonly string[] => {
  if (text === undefined) return []
  return text.split(',').map((part) => {
    const url = /^https?:\/\//i.test(part.trim()) ? URL.parse(part.trim()) : null
    if (url !== null && url.href === `${url.origin}/`) return url.origin
    throw new UsageError(
      `--allowed-origins has "${part.trim()}"; it takes origins, such as https://app.example.com, separated by commas`,
    )
  })
}
