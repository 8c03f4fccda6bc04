/**
 * Text that looks like an API key must not reach an answer or the log, wherever the caller put it. The same holds for
 * most of a key: its checksum would help to guess the rest.
 */
export const maskApiKeys = (text: string): string => text.replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g, 'svc_$1_****')
