/** The names of the files that the page loads, in the folder `console` beside it. */
export interface ConsoleFiles {
  script: string
  /** Scripts that the first one imports. */
  preloads: string[]
  style: string
  icon: string
}

/**
 * The page of the console. Its URLs are relative, so they are right behind a proxy that adds a path too. The script makes
 * everything that is to be seen; nothing in the page depends on who asks for it. The browser runs the scripts with the nonce of
 * the answer's policy, and no others.
 */
export const consolePage = ({ script, preloads, style, icon }: ConsoleFiles, nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Cubby</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" type="image/svg+xml" href="console/${icon}">
<link rel="stylesheet" href="console/${style}">
${preloads.map((name) => `<link rel="modulepreload" nonce="${nonce}" href="console/${name}">\n`).join('')}<script type="module" nonce="${nonce}" src="console/${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript. The API is described at <a href="docs">docs</a>, which works without it.</noscript>
</body>
</html>
`

/**
 * The policy forbids sources of other sites, scripts and styles in the page, and text that becomes markup. Scripts are not
 * allowed by their origin, because files of users have the same one.
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

/**
 * The page is asked for again each time: it names the files that belong together. Imports inherit the nonce of their script.
 */
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
