import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { parseName } from '../names.ts'

/** The database of a collection that is a table's name alone. */
const defaultDatabase = 'default'

interface Collection {
  db: string
  table: string
}

/** `app.orders`, or `orders` in the database `default`. The parts are not checked: after a second dot, `table` has a dot. */
export const divideCollection = (collection: string): Collection => {
  const dot = collection.indexOf('.')
  if (dot < 0) return { db: defaultDatabase, table: collection }
  return { db: collection.slice(0, dot), table: collection.slice(dot + 1) }
}

/** The database and the table that a collection names. */
export const parseCollection = (collection: unknown): Collection => {
  const isText = typeof collection === 'string'
  if (!isText || collection.indexOf('.') !== collection.lastIndexOf('.')) {
    throw new CubbyError(
      'invalid_name',
      `collection is ${describeValue(collection)}; it takes "db.table", or "table" for the database ${defaultDatabase}.`,
      { field: 'collection', hint: 'Names have no dots: give the database, one dot and the table.' },
    )
  }
  const { db, table } = divideCollection(collection)
  if (!collection.includes('.')) return { db, table: parseName(table, 'collection') }
  return {
    db: parseName(db, 'collection', 'The database in collection'),
    table: parseName(table, 'collection', 'The table in collection'),
  }
}
