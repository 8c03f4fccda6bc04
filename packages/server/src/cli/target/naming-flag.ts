import { CubbyError } from '../../core/errors.ts'

/** `--url` and `--key` are those of the server: the members of these names have other flags. */
export const namingFlag = async <T>(member: 'url' | 'key', flag: string, answer: Promise<T>): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof CubbyError) || error.field !== member) throw error
    const { code, message, field, hint } = error
    throw new CubbyError(code, message.replace(new RegExp(`^${member}\\b`), flag), { field, hint })
  }
}
