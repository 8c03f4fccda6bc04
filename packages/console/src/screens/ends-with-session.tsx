import { showInstant } from '../text/instant.ts'
import { shellCommand } from '../text/shell-command.ts'
import { Time } from '../ui/time.tsx'

/** Warns before anything is typed. Otherwise people find out when the key stops working. */
export const EndsWithSession = ({ endMs, command }: { endMs: number; command: string }) => (
  <div class="message warn">
    <p>
      <strong>
        A key that you create here expires <Time ms={endMs} /> at the latest
      </strong>
      , as the key of this session does, {showInstant(endMs).utc}.
    </p>
    <p>
      For a key that lasts, run this where the server runs: <code>{shellCommand(command)}</code>. Or sign in with a key
      that does not expire, and not for 12 hours.
    </p>
  </div>
)
