import { bodyBytesMax } from '../../core/limits.ts'
import { deleteItemOperation } from '../../operations/items/delete-item.ts'
import { getItemOperation } from '../../operations/items/get-item.ts'
import { putItemOperation } from '../../operations/items/put-item.ts'
import type { OperationRoute } from './route.ts'

const paths = ['/api/collections/:collection/items/:id']

export const itemRoutes = {
  getItem: { operation: getItemOperation, method: 'GET', paths, query: ['rangeKey'] },
  putItem: {
    operation: putItemOperation,
    method: 'PUT',
    paths,
    query: ['rangeKey', 'ttl'],
    body: { schema: 'Item', required: true, bytesMax: bodyBytesMax, member: 'data' },
  },
  deleteItem: { operation: deleteItemOperation, method: 'DELETE', paths, query: ['rangeKey'] },
} satisfies Record<string, OperationRoute>
