/** With `{ type: 'text' }` an import is the text of the file. */
declare module '*.md' {
  const text: string
  export default text
}
