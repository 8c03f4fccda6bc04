/**
 * Nothing from other sites, no script or style in the page, and no text that becomes markup. Scripts are not allowed by their
 * origin, because files of users have the same one.
 */
const protection = (scripts: string): Record<string, string> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src ${scripts}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  // A page that opens the console cannot reach into it.
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
})

/** The page is asked for again each time: it names the files that belong together. Imports inherit the nonce of their script. */
export const pageHeaders = (nonce: string): Record<string, string> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-cache',
  ...protection(`'nonce-${nonce}'`),
})

/** The name of a file changes with its content. Opened by itself, it runs no script. */
export const fileHeaders = (type: string): Record<string, string> => ({
  'Content-Type': type,
  'Cache-Control': 'public, max-age=31536000, immutable',
  ...protection("'none'"),
})
