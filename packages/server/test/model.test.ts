import { expect, test } from 'bun:test'
import { isWhole, startServer } from './harness.ts'
import { SteppedClock } from './model/clock.ts'
import { ModelClient } from './model/model-client.ts'
import { Random, testSeed } from './model/random.ts'

// Each rule of the contract has its own test elsewhere. This test combines them. Without it, two rules that work alone (an
// expired record, overwritten in a batch, in a table that was restored) could break each other unnoticed.

const clientsMax = 8
const rounds = 40
/** Each step is one or a few requests. CUBBY_TEST_MODEL_STEPS sets another number. */
const steps = Number(process.env.CUBBY_TEST_MODEL_STEPS ?? (isWhole ? 6_000 : 1_500))

test('random requests are answered as a naive store in memory answers them', async () => {
  const seed = testSeed()
  console.log(`model test: CUBBY_TEST_SEED=${seed}`)
  const random = new Random(seed)
  const server = await startServer({ clock: true })
  try {
    const clock = new SteppedClock(server)
    const organizations = [await server.createOrganization(), await server.createOrganization()]
    // Clients share organizations and commits, never a database.
    const clients = Array.from({ length: clientsMax }, (_, i) => {
      const { secretKey, publicKey } = organizations[i % organizations.length]!
      const db = `db-${Math.floor(i / organizations.length)}`
      return new ModelClient({
        db,
        clock,
        random: new Random(random.int(0, 0xffffffff)),
        secret: server.as(secretKey),
        open: server.as(publicKey),
      })
    })
    await Promise.all(clients.map((client) => client.start()))
    for (let round = 0; round < rounds; round++) {
      await Promise.all(clients.map((client) => client.run(Math.ceil(steps / rounds / clientsMax))))
      clock.step(
        random,
        clients.flatMap((client) => [...client.naive.deadlines()]),
      )
      if (round === rounds / 2) await server.restart(random.pick(['SIGTERM', 'SIGKILL']))
    }
    await Promise.all(clients.map((client) => client.compareAll()))
    const verified = await server.cubby('verify')
    expect(verified).toMatchObject({ exitCode: 0, stderr: '' })
  } catch (error) {
    ;(error as Error).message = `CUBBY_TEST_SEED=${seed} shows this again.\n${(error as Error).message}`
    throw error
  } finally {
    await server.stop()
  }
}, 120_000)
