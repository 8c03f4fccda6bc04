import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'

/** Names the words of a refusal beside a schema. A symbol, so that the JSON of the schema does not have them. */
export const words: unique symbol = Symbol('words')

interface Words {
  /** The unit of an integer: `seconds`. */
  readonly unit?: string
  readonly hint?: string
}

/** The schema of a number, a flag or a word: bounds and values stand here once, for those who check and those who describe. */
export type Scalar =
  | { readonly type: 'integer'; readonly minimum: number; readonly maximum: number; readonly [words]?: Words }
  | { readonly type: 'boolean'; readonly [words]?: Words }
  | { readonly type: 'string'; readonly enum: readonly string[]; readonly [words]?: Words }

type ValueOf<Rule extends Scalar> = Rule extends { type: 'integer' }
  ? number
  : Rule extends { readonly enum: readonly (infer Word)[] }
    ? Word
    : boolean

const fits = (rule: Scalar, value: unknown): boolean => {
  if (rule.type === 'boolean') return typeof value === 'boolean'
  if (rule.type === 'string') return rule.enum.includes(value as string)
  return Number.isInteger(value) && (value as number) >= rule.minimum && (value as number) <= rule.maximum
}

const takes = (rule: Scalar): string => {
  if (rule.type === 'boolean') return 'true or false'
  if (rule.type === 'integer') {
    const unit = rule[words]?.unit
    return `${unit === undefined ? '' : `${unit}, `}an integer from ${rule.minimum} to ${rule.maximum}`
  }
  const quoted = rule.enum.map((word) => `"${word}"`)
  return quoted.length > 2 ? `one of ${quoted.join(', ')}` : quoted.join(' or ')
}

/** The member `field` of a request, checked by its schema; undefined if it is absent. */
export const readScalar = <const Rule extends Scalar>(
  rule: Rule,
  value: unknown,
  field: string,
): ValueOf<Rule> | undefined => (value === undefined ? undefined : requireScalar(rule, value, field))

/** The same for a member that must be there. */
export const requireScalar = <const Rule extends Scalar>(rule: Rule, value: unknown, field: string): ValueOf<Rule> => {
  if (fits(rule, value)) return value as ValueOf<Rule>
  throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes ${takes(rule)}.`, {
    field,
    hint: rule[words]?.hint,
  })
}
