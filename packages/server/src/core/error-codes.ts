// The client owns the codes: the server cannot send a code that the client does not know. The list is not in errors.ts,
// because importing it loads the whole client, and only descriptions need it.
export { errorCodes } from '@cubbydb/client'
