import { useSignal } from '@preact/signals'
import { curlOf } from '../../api/curl.ts'
import { read } from '../../api/request.ts'
import type { RunRow, RunStatus } from '../../api/types.ts'
import { canWrite } from '../../state/session.ts'
import { showInstant } from '../../text/instant.ts'
import { Failure, set, useAction } from '../../ui/action.tsx'
import { announce } from '../../ui/announce.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Confirm } from '../../ui/form.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { type Loaded, Placeholder, useLoad } from '../../ui/load.tsx'
import { Screen, Section } from '../../ui/screen.tsx'
import { Time } from '../../ui/time.tsx'
import { LiveLine, useLive } from './live.tsx'
import { runPath } from './task-requests.ts'
import { StatusTag } from './task-words.tsx'

/** Each refresh waits so long for the end of the run, so the end is seen at once and progress within this time. */
const waitSeconds = 2

const isFinished = (status: RunStatus): boolean => status !== 'queued' && status !== 'running'

const Instant = ({ label, ms }: { label: string; ms: number | null }) => (
  <>
    <dt>{label}</dt>
    <dd>
      {ms === null ? (
        <span class="muted">not yet</span>
      ) : (
        <>
          <Time ms={ms} /> <span class="muted">{showInstant(ms).utc}</span>
        </>
      )}
    </dd>
  </>
)

/** JSON as it is, with a button that copies all of it. */
const Value = ({ name, text }: { name: string; text: string }) => (
  <Section title={name} actions={text !== 'null' && <CopyButton text={() => text} what={name} />}>
    {text === 'null' ? <p class="muted">None.</p> : <JsonView text={text} label={name} />}
  </Section>
)

export const RunScreen = ({ db, task, run }: { db: string; task: string; run: string }) => {
  const path = runPath(db, task, run)
  const isCancelling = useSignal(false)
  const isRepeating = useSignal(false)
  const retrying = useAction()
  const loaded: Loaded<RunRow> = useLoad(async (signal) => {
    const known = loaded.value.value
    const wait = known !== undefined && !isFinished(known.status) ? `?waitSeconds=${waitSeconds}` : ''
    const found = await read<RunRow>('GET', path + wait, { signal })
    if (known && known.status !== found.status) announce(`The run is ${found.status}.`)
    return found
  }, [])
  const found = loaded.value.value
  const isLive = found !== undefined && !isFinished(found.status)
  const live = useLive(loaded, 0, isLive)

  const retry = async () => {
    loaded.value.value = await read<RunRow>('POST', `${path}/retry`)
    announce('Queued again')
  }
  const cancel = async () => {
    loaded.value.value = await read<RunRow>('POST', `${path}/cancel`)
    announce('Cancelled')
  }
  return (
    <Screen
      path={[
        { label: db, to: { screen: 'database', db } },
        { label: 'Tasks', to: { screen: 'tasks', db } },
        { label: task, to: { screen: 'task', db, task } },
      ]}
      title={run}
      isData
      actions={
        <>
          <CopyButton label="Copy as curl" text={() => curlOf({ method: 'GET', path })} />
          {canWrite.value && found && (
            <>
              {isLive && (
                <button type="button" onClick={set(isCancelling, true)}>
                  Cancel the run
                </button>
              )}
              {found.status === 'succeeded' && (
                <button type="button" onClick={set(isRepeating, true)}>
                  Run again
                </button>
              )}
              {!isLive && found.status !== 'succeeded' && (
                <button type="button" class="filled" disabled={retrying.isRunning} onClick={() => retrying.run(retry)}>
                  Retry
                </button>
              )}
            </>
          )}
        </>
      }
    >
      <div class="pad">
        <Failure of={retrying} />
        {found === undefined && loaded.error.value !== undefined && (
          <ErrorBox error={loaded.error.value} retry={loaded.reload} />
        )}
        {found === undefined && loaded.isSlow.value && <Placeholder rows={8} />}
        {found && (
          <>
            <div class="run-head">
              <StatusTag status={found.status} />
              {isLive ? <LiveLine of={live} /> : <div class="live" />}
            </div>
            <dl class="facts">
              <dt>attempt</dt>
              <dd>{found.attempt === 0 ? '0, none has begun' : found.attempt}</dd>
              {canWrite.value && (
                <>
                  <dt>key</dt>
                  <dd class="mono">{found.key ?? <span class="muted">none</span>}</dd>
                </>
              )}
              {found.user != null && (
                <>
                  <dt>user</dt>
                  <dd class="mono">{found.user}</dd>
                </>
              )}
              <Instant label="runAt" ms={found.runAt} />
              <Instant label="createdAt" ms={found.createdAt} />
              <Instant label="updatedAt" ms={found.updatedAt} />
              <Instant label="finishedAt" ms={found.finishedAt} />
            </dl>
            {found.error !== null && (
              <Section
                title="error"
                actions={<CopyButton text={() => `${found.error!.code}: ${found.error!.message}`} what="the error" />}
              >
                <div class="message danger">
                  <p>
                    <strong>{found.error.code}</strong>
                  </p>
                  <p class="wrap mono">{found.error.message}</p>
                </div>
              </Section>
            )}
            {found.payload === undefined ? (
              <Section title="payload">
                <p class="muted">A public key reads neither the payload nor the key of a run.</p>
              </Section>
            ) : (
              <Value name="payload" text={found.payload} />
            )}
            <Value name="progress" text={found.progress} />
            <Value name="result" text={found.result} />
          </>
        )}
      </div>
      {isRepeating.value && (
        <Confirm
          title="Run it again?"
          action="Run again"
          isDangerous={false}
          run={retry}
          onClose={set(isRepeating, false)}
        >
          <p>This run has succeeded. Its work is done once more, and its result is cleared.</p>
        </Confirm>
      )}
      {isCancelling.value && (
        <Confirm
          title="Cancel this run?"
          action="Cancel the run"
          cancel="Keep it"
          run={cancel}
          onClose={set(isCancelling, false)}
        >
          <p>
            The result of its attempt is rejected from then on. A worker that has the run goes on until it extends or
            finishes it. You can retry the run later.
          </p>
        </Confirm>
      )}
    </Screen>
  )
}
