import { type Awaitable, andThen } from '../../../core/awaitable.ts'
import type { Keyring, StoreSecret } from '../../../core/store-secrets.ts'
import type { Secrets } from '../../../store/secrets.ts'
import type { Registry } from './registry.ts'

export class PostgresSecrets implements Secrets {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  at(nowMs: number): Awaitable<Keyring> {
    return andThen(this.#registry.cache.secrets(), (secrets) => secrets.at(nowMs))
  }

  async rotate(next: StoreSecret, endsEarlier: boolean, nowMs: number): Promise<StoreSecret[]> {
    const { secrets, epoch } = await this.#registry.writes.rotateSecrets(next, endsEarlier, nowMs)
    this.#registry.cache.moveTo(epoch)
    return secrets
  }
}
