// Choices about the look of this browser: never data, never a key.

const prefix = 'cubby.'

export const preference = <T>(name: string, fallback: T): T => {
  try {
    const text = localStorage.getItem(prefix + name)
    return text === null ? fallback : (JSON.parse(text) as T)
  } catch {
    return fallback
  }
}

export const setPreference = (name: string, value: unknown): void => {
  try {
    localStorage.setItem(prefix + name, JSON.stringify(value))
  } catch {
    // Full or switched off: the choice lasts as long as the page.
  }
}
