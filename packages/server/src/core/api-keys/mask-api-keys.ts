/**
 * What looks like an API key, wherever a caller has put it, must reach neither an answer nor the log. Nor may most of
 * one: the checksum would give the rest.
 */
export const maskApiKeys = (text: string): string => text.replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g, 'svc_$1_****')
