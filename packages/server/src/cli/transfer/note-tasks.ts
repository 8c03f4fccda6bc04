import { printNote } from '../print.ts'
import { showCount } from './progress-line.ts'

/**
 * Notes the tasks after a new store was made from another one: a server that only tries it must not do the other one's work
 * again.
 */
export const noteTasks = (tasks: number): void => {
  if (tasks === 0) return
  const what = `the store has ${showCount(tasks, 'task')}: a server on it pushes, schedules and hands out their runs`
  printNote(`cubby: ${what}. To try it without that, start it with cubby serve --no-tasks`)
}
