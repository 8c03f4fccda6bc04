/** An import with `{ type: 'text' }` is the text of the file. */
declare module '*.md' {
  const text: string
  export default text
}
