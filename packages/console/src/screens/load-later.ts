/** The script of the screens that are not part of the first load. */
export const loadLater = () => import('./later-screens.ts')
