/** A command for a shell, in words. The page cannot know how the reader has installed it. */
export const shellCommand = (command: string): string => `cubby ${command} (npx cubbydb ${command} from npm)`
