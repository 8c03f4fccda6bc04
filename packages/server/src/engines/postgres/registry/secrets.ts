import { type Awaitable, andThen } from '../../../core/awaitable.ts'
import { type Keyring, rotateSecrets, type StoreSecret } from '../../../core/store-secrets.ts'
import type { Secrets } from '../../../store/secrets.ts'
import { noOrg } from '../connection/database.ts'
import { bind, type Statement } from '../connection/driver.ts'
import type { Registry } from './registry.ts'
import { secretColumns, secretValues, toSecrets, writeSecrets } from './rows.ts'

const lockSecrets: Statement = {
  name: 'lock_secrets',
  text: `select ${secretColumns} from cubby_store s for update`,
}

export class PostgresSecrets implements Secrets {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  at(nowMs: number): Awaitable<Keyring> {
    return andThen(this.#registry.cache.secrets(), (secrets) => secrets.at(nowMs))
  }

  rotate(next: StoreSecret, endsEarlier: boolean, nowMs: number): Promise<StoreSecret[]> {
    const { db, cache } = this.#registry
    return db.transaction(noOrg, async ({ send, commit }) => {
      const [found] = await send(bind(lockSecrets))
      const secrets = rotateSecrets(toSecrets(found!.rows[0]!), next, endsEarlier, nowMs)
      const [written] = await commit(bind(writeSecrets, ...secretValues(secrets)))
      cache.moveTo(Number(written!.rows[0]![0]))
      return secrets
    })
  }
}
