import pg from 'pg'

// Every SQL text that the engine sends. The protocol has two messages that carry SQL, Parse and Query, and each is one
// method of pg's connection: a text that does not pass here is not sent.

interface Wire {
  startup(config: { application_name?: string }): void
  parse(message: { name: string; text: string }): void
  query(text: string): void
}

export interface Sent {
  /** The name of a prepared statement. */
  name: string | undefined
  text: string
}

/** Records what connections of Cubby send, those of the tests themselves aside, until `stop`. */
export const recordStatements = (): { sent: Map<string, Sent>; stop(): void } => {
  const wire = (pg as unknown as { Connection: { prototype: Wire } }).Connection.prototype
  const { startup, parse, query } = wire
  const ours = new WeakSet<Wire>()
  /** The statements by name and text, so that each is kept once. */
  const sent = new Map<string, Sent>()
  const note = (connection: Wire, name: string | undefined, text: string) => {
    if (ours.has(connection)) sent.set(`${name ?? ''}\n${text}`, { name, text })
  }
  wire.startup = function (this: Wire, config) {
    if (config.application_name === 'cubby') ours.add(this)
    return startup.call(this, config)
  }
  wire.parse = function (this: Wire, message) {
    note(this, message.name, message.text)
    return parse.call(this, message)
  }
  wire.query = function (this: Wire, text) {
    note(this, undefined, text)
    return query.call(this, text)
  }
  return { sent, stop: () => void Object.assign(wire, { startup, parse, query }) }
}
