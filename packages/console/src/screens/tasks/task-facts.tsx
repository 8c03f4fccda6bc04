import type { TaskRow } from '../../api/types.ts'
import { Oldest, ScheduleText, secondsText, TaskState } from './task-words.tsx'

/** The one number to watch, then how the task is declared. */
export const TaskFacts = ({ task }: { task: TaskRow }) => (
  <dl class="task-facts">
    <div>
      <dt>oldest waiting run</dt>
      <dd>
        <Oldest at={task.oldestRunAt} />
      </dd>
    </div>
    <div>
      <dt>state</dt>
      <dd>
        <TaskState task={task} />
      </dd>
    </div>
    <div>
      <dt>delivery</dt>
      <dd class="mono">{task.url === null ? 'pull' : `push ${task.url}`}</dd>
    </div>
    <div>
      <dt>schedule</dt>
      <dd>
        <ScheduleText task={task} />
      </dd>
    </div>
    <div>
      <dt>attempts</dt>
      <dd>
        {task.attempts}, backoff {secondsText(task.backoffSeconds)}
      </dd>
    </div>
    <div>
      <dt>lease</dt>
      <dd>{secondsText(task.leaseSeconds)}</dd>
    </div>
    <div>
      <dt>at once</dt>
      <dd>{task.concurrency ?? 'unlimited'}</dd>
    </div>
    <div>
      <dt>finished runs kept</dt>
      <dd>{secondsText(task.keepSeconds)}</dd>
    </div>
  </dl>
)
