/** The style of the page. The page allows it by its hash, so it must be inserted unchanged. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #fff; --raised: #f6f7f9; --text: #1c2128; --quiet: #57606a; --line: #d9dee4; --link: #0a58ca;
  --get: #0b6e4f; --post: #0a58ca; --put: #8a5200; --delete: #b3261e; --other: #57606a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --raised: #1d2229; --text: #e3e7ec; --quiet: #9aa4b0; --line: #333b45; --link: #79b0ff;
    --get: #5bd1a5; --post: #79b0ff; --put: #e9b161; --delete: #ff8f87; --other: #9aa4b0;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
}
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .875em; }
code { overflow-wrap: anywhere; }
p code, li code { background: var(--raised); border-radius: .25rem; padding: .05em .2em; }
.route code, .type code { background: none; padding: 0; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem; }

.layout { display: grid; grid-template-columns: 20rem minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
nav { border-right: 1px solid var(--line); }
nav > details { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; }
nav summary { display: none; }
nav h2 { font-size: .8125rem; color: var(--quiet); margin: 1.25rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a {
  display: grid; grid-template-columns: 3.75rem 1fr; align-items: baseline; padding: .2rem .5rem; border-radius: .375rem;
  color: inherit; text-decoration: none; font-size: .875rem; line-height: 1.35;
}
nav li.plain a { display: block; }
nav li a:hover { background: var(--raised); }
nav input {
  width: 100%; padding: .4rem .6rem; font: inherit; font-size: .875rem;
  background: var(--ground); color: inherit; border: 1px solid var(--line); border-radius: .375rem;
}
main { padding: 2rem clamp(1rem, 4vw, 3rem) 6rem; min-width: 0; }
main > section { max-width: 52rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0; }
h1 small { font-size: 1rem; font-weight: 400; color: var(--quiet); }
.lead { font-size: 1.125rem; color: var(--quiet); margin: .5rem 0 1.5rem; }
h2 { font-size: 1.5rem; margin: 4rem 0 .5rem; }
h3 { font-size: 1.1875rem; line-height: 1.3; margin: 2rem 0 .5rem; }
h4 { font-size: .9375rem; margin: 1.75rem 0 .5rem; }
h5 { font-size: .9375rem; margin: 1.25rem 0 .25rem; }
p, ul { margin: .5rem 0; }
ul { padding-left: 1.25rem; }

.operation { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: .5rem; }
.operation h3 { margin-top: 1rem; }
.method { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-weight: 700; font-size: .75rem; color: var(--other); }
.method.get, .method.head { color: var(--get); } .method.post { color: var(--post); }
.method.put { color: var(--put); } .method.delete { color: var(--delete); }
.route {
  display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; margin: .5rem 0;
  background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem;
}
.route .method { font-size: .875rem; }
.route code { font-size: .9375rem; }
.route .key { margin-left: auto; font-size: .8125rem; color: var(--quiet); }

.fields { margin: .5rem 0; border-top: 1px solid var(--line); }
.fields > div {
  display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 0 1rem; padding: .5rem 0; border-bottom: 1px solid var(--line);
}
.fields .fields { border: 0; margin: .25rem 0 0; } .fields .fields > div:last-child { border: 0; padding-bottom: 0; }
dt { font-weight: 600; }
dt small { display: block; font-weight: 400; color: var(--quiet); }
dd { margin: 0; }
dd p { margin: 0; }
.type { color: var(--quiet); font-size: .875rem; }
.required { color: var(--delete); white-space: nowrap; }

.example { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; overflow: hidden; }
.example > summary { cursor: pointer; padding: .5rem .75rem; display: flex; gap: .75rem; align-items: baseline; }
.example > summary::before { content: '+'; color: var(--quiet); width: .75rem; }
.example[open] > summary::before { content: '−'; }
.example > summary .status { margin-left: auto; color: var(--quiet); font-size: .875rem; white-space: nowrap; }
.example > summary .status.bad { color: var(--delete); }
.example > p { margin: 0; padding: 0 .75rem .5rem; font-size: .875rem; color: var(--quiet); }
pre { margin: 0; padding: .75rem; background: var(--raised); line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
.example pre { border-top: 1px solid var(--line); }
.setup { border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.paste { position: relative; }
.paste:has(button) pre { padding-right: 5rem; }
.paste button {
  position: absolute; top: .5rem; right: .5rem; font: inherit; font-size: .75rem; padding: .125rem .5rem; cursor: pointer;
  background: var(--ground); color: var(--quiet); border: 1px solid var(--line); border-radius: .375rem;
}
.paste button:hover { color: var(--text); }
[hidden] { display: none !important; }

@media (max-width: 60rem) {
  .layout { display: block; }
  nav { border: 0; border-bottom: 1px solid var(--line); }
  nav > details { position: static; max-height: none; padding: .75rem 1rem; }
  nav summary { display: block; cursor: pointer; font-weight: 600; }
  nav summary::after { content: ' ▾'; color: var(--quiet); }
  nav input { margin-top: .75rem; }
  main { padding-top: 1.25rem; }
  .route .key { margin-left: 0; width: 100%; }
}
@media (max-width: 36rem) {
  .fields > div { grid-template-columns: 1fr; }
  dt small { display: inline; margin-left: .5rem; }
}
`
