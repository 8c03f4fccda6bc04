import { type ExampleCall, inOrders, laterAt } from '../example.ts'
import { second } from '../records/examples.ts'

export const keepForADay: ExampleCall = { operation: 'keepChanges', input: { ...inOrders, keepHours: 24 } }
export const keepNone: ExampleCall = { operation: 'keepChanges', input: { ...inOrders, keepHours: null } }

export const putOf = <Item extends object>(item: Item): { op: 'put' } & Item => ({ op: 'put', ...item })

export const firstCursor = 'AkOXzW7l2BdzQmm0vPiWzQ7Yb3iQwq8X0mC6rU1sVbq4pS6hTn9dLk2fEJ5oG8uRy0aQzK7tM1xHc3vD'
export const nextCursor = 'AlW4kT9sXe7BqRj2mHd0VnYu5cPzL8fGo3iSa6xKt1QwEr9yUvMb4DhJp7nZlCs2F0gTkXi5AqOeRmWv'

export const fromNow = {
  input: { ...inOrders, from: 'now' },
  output: { items: [], count: 0, cursor: firstCursor, more: false },
}

export const askFromNow: ExampleCall = { operation: 'readChanges', ...fromNow }

const { hashKey, rangeKey } = second
export const deleteSecond: ExampleCall = { operation: 'deleteRecord', input: { ...inOrders, hashKey, rangeKey } }
export const goneSecond = { op: 'delete', hashKey, rangeKey, deletedAt: laterAt }
