import { decodeSecrets, encodeSecrets, type Keyring, type StoreSecret } from '../../../core/store-secrets.ts'
import type { Secrets } from '../../../store/secrets.ts'
import type { OpenStore } from '../open-store.ts'

export class SqliteSecrets implements Secrets {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  at(nowMs: number): Keyring {
    try {
      return this.#store.registry.secrets().at(nowMs)
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
  }

  async rotate(next: StoreSecret, endsEarlier: boolean, nowMs: number): Promise<StoreSecret[]> {
    const rotation = { next: encodeSecrets([next]), endsEarlier, nowMs }
    const rotated = await this.#store.channel.submit({ kind: 'rotateSecrets', ...rotation })
    return decodeSecrets(rotated)
  }
}
