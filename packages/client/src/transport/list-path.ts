/** `path?limit=…`, without the parameters that have no value. */
export const listPath = (path: string, parameters: Record<string, string | number | boolean | null | undefined>) => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value != null) search.set(name, String(value))
  return `${path}?${search}`.replace(/\?$/, '')
}
