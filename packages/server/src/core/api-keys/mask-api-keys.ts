/**
 * Text that looks like an API key, a user token or a login token must not reach an answer or the log, wherever the caller put it. The
 * same holds for most of a key: its checksum would help to guess the rest. The header of a JWT begins with `{"`.
 */
export const maskApiKeys = (text: string): string =>
  text
    .replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g, 'svc_$1_****')
    .replace(/svc_user_[0-9A-Za-z_-]{8,}/g, 'svc_user_****')
    .replace(/eyJ[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]*){0,4}/g, 'eyJ****')
