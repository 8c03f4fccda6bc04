// The client owns the codes: what it cannot name, the server cannot answer. Apart from the type, since with the list comes
// the whole client, and only descriptions need it.
export { errorCodes } from '@cubby/client'
