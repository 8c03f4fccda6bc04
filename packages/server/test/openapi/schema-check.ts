import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import type { Json } from '../harness.ts'

/** Checks values against schemas of the document, by JSON Schema 2020-12, strictly: an unknown keyword is an error. */
export class SchemaCheck {
  readonly #ajv = new Ajv({
    strict: true,
    allowUnionTypes: true,
    allErrors: true,
    formats: { int64: true, binary: true },
  })
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(document: Json) {
    this.#ajv.addVocabulary(['components', 'x-enumDescriptions'])
    this.#ajv.addSchema({ $id: 'cubby:openapi', components: document.components })
  }

  /** Lists what is wrong with the value; empty when nothing is. */
  faults(schema: Json, value: unknown): string[] {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"cubby:openapi#/components')
    let validate = this.#compiled.get(text)
    if (validate === undefined) {
      validate = this.#ajv.compile(JSON.parse(text))
      this.#compiled.set(text, validate)
    }
    if (validate(value)) return []
    return validate.errors!.map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`)
  }
}
