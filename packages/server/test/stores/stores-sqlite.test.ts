import { sqliteStores } from './kept-stores.ts'
import { storeCases } from './store-cases.ts'

storeCases(sqliteStores)
