// The entry point @cubbydb/client/webhooks, for servers that Cubby pushes runs to. It needs no API key and no other module.

export { PushError, type PushFault } from './webhooks/push-error.ts'
export { type Push, type PushRequest, type VerifyOptions, verifyPush } from './webhooks/verify-push.ts'
