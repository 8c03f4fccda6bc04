import { decodeSecrets, encodeSecrets } from '../../../core/store-secrets.ts'
import type { Secrets } from '../../../store/secrets.ts'
import type { OpenStore } from '../open-store.ts'

export const sqliteSecrets = (store: OpenStore): Secrets => ({
  at: (nowMs) => store.orExplain(() => store.registry.secrets().at(nowMs)),

  async rotate(next, endsEarlier, nowMs) {
    const rotation = { next: encodeSecrets([next]), endsEarlier, nowMs }
    return decodeSecrets(await store.channel.submit({ kind: 'rotateSecrets', ...rotation }))
  },
})
