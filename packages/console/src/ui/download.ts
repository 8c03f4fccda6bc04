/** Saves what the page has as a file. With its own type, its address could be opened as a document of the console's origin. */
export const saveAs = (name: string, body: Blob): void => {
  const url = URL.createObjectURL(new Blob([body], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
