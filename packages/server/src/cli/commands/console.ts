import { linkKeyRequest, linkMinutes, signInLink } from '../../console/sign-in-link.ts'
import { createApiKey } from '../../operations/api-keys/create-api-key.ts'
import { openClock } from '../../process/clock.ts'
import { jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine } from '../print.ts'
import { orgFlag, requireOrganization } from '../target/organization.ts'
import { parseServerUrl, remoteFlags } from '../target/remote.ts'
import { storeFlags, withStore } from '../target/store.ts'

export const consoleLinkCommand: CliCommand = {
  name: 'console link',
  summary: 'print a link that signs in to the console',
  details: `The link works in a browser for ${linkMinutes} minutes. It contains a secret key of the organization that was made for it
alone: everybody who has the link has the key. The console replaces it with a key of its own and revokes it.`,
  example: 'cubby console link --url http://127.0.0.1:4600',
  flags: {
    ...storeFlags,
    org: orgFlag,
    url: remoteFlags.url!,
    json: jsonFlag,
  },
  async run(args) {
    const url = parseServerUrl(args)
    return withStore(args, { mustExist: true }, async (engine) => {
      const { id } = await requireOrganization(engine, args.text('org')!)
      const nowMs = openClock(process.env).now()
      const request = linkKeyRequest(nowMs)
      const { text } = await createApiKey({ engine, orgId: id }, request, nowMs)
      const link = signInLink(url, text)
      if (args.flag('json')) printJson({ link, expiresAt: request.expiresAtMs })
      else printLine(link)
      return 0
    })
  },
}
