import { ObjectEdit, SoughtNames } from './json-edit.ts'
import { ObjectWalk, valueEnd } from './json-span.ts'

// JSON Merge Patch (RFC 7396) on texts that are already checked to be JSON objects of limited depth. What the patch does not
// name stays byte for byte.

const openBrace = 0x7b
const letterN = 0x6e

/** A member of the patch, from its name to the end of its value. */
interface Change {
  name: string
  start: number
  valueStart: number
  end: number
  /** The value, if it is an object. */
  object: ObjectPatch | undefined
}

/** An object of the patch. */
class ObjectPatch {
  readonly changes: Change[] = []
  readonly end: number
  #byName: Map<string, Change> | undefined
  #names: SoughtNames | undefined

  constructor(text: string, at: number) {
    const walk = new ObjectWalk(text, at, undefined)
    while (walk.next()) {
      const { name, nameStart: start, at: valueStart } = walk
      const object = text.charCodeAt(valueStart) === openBrace ? new ObjectPatch(text, valueStart) : undefined
      walk.at = object === undefined ? valueEnd(text, valueStart) : object.end
      this.changes.push({ name, start, valueStart, end: walk.at, object })
    }
    this.end = walk.at
  }

  /** The change of a member that the patch has. */
  find(name: string): Change {
    return this.#changesByName.get(name)!
  }

  get names(): SoughtNames {
    this.#names ??= new SoughtNames(this.#changesByName)
    return this.#names
  }

  get #changesByName(): Map<string, Change> {
    this.#byName ??= new Map(this.changes.map((change) => [change.name, change]))
    return this.#byName
  }
}

/** Walks over a new object and removes its members of null. An array stays as it is. */
const removeNulls = (text: string, at: number): ObjectEdit => {
  const edit = new ObjectEdit(text, at, undefined)
  while (edit.next()) {
    const code = text.charCodeAt(edit.at)
    if (code === letterN) {
      edit.remove()
    } else if (code === openBrace) {
      const inner = removeNulls(text, edit.at)
      if (!inner.isEdited) {
        edit.keep(inner.at)
        continue
      }
      const value = inner.write([])
      edit.replace(inner.at, () => value)
    } else {
      edit.keep()
    }
  }
  return edit
}

/** The text of a new value. */
const newValue = (patch: string, change: Change): string => {
  const sent = patch.slice(change.valueStart, change.end)
  const mayHaveNulls = change.object !== undefined && sent.includes('null')
  return mayHaveNulls ? removeNulls(patch, change.valueStart).write([]) : sent
}

const isNull = (patch: string, { valueStart }: Change): boolean => patch.charCodeAt(valueStart) === letterN

/** Walks over the object at `at`. `patch` is the whole text, and `object` the part of it that this object gets. */
const mergeObject = (text: string, at: number, patch: string, object: ObjectPatch): ObjectEdit => {
  const edit = new ObjectEdit(text, at, object.names)
  while (edit.next()) {
    const change = object.find(edit.name)
    if (isNull(patch, change)) {
      edit.remove()
    } else if (change.object !== undefined && text.charCodeAt(edit.at) === openBrace) {
      const part = change.object
      const inner = mergeObject(text, edit.at, patch, part)
      edit.replace(inner.at, () => inner.write(newMembers(inner, patch, part)))
    } else {
      edit.replace(valueEnd(text, edit.at), () => newValue(patch, change))
    }
  }
  return edit
}

/** The members of the patch that the object does not have, each from its name to the end of its value. */
const newMembers = (edit: ObjectEdit, patch: string, object: ObjectPatch): string[] => {
  const added: string[] = []
  for (const change of object.changes) {
    if (isNull(patch, change) || edit.has(change.name)) continue
    added.push(patch.slice(change.start, change.valueStart) + newValue(patch, change))
  }
  return added
}

/** Applies `patch` to `text`. Both are objects, and no object of the patch has a name twice. */
export const mergePatch = (text: string, patch: string): string => {
  const object = new ObjectPatch(patch, 0)
  const edit = mergeObject(text, 0, patch, object)
  return edit.write(newMembers(edit, patch, object))
}
