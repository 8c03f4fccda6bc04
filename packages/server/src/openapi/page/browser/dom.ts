type Child = Node | string

/** Creates an element. Text children are text, never HTML. */
export const create = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

export const all = (selector: string, within: ParentNode = document): HTMLElement[] =>
  Array.from(within.querySelectorAll<HTMLElement>(selector))

/** The address of this server, also behind a proxy that adds a prefix. */
export const serverUrl = (): string => new URL('.', location.href).href.replace(/\/$/, '')
