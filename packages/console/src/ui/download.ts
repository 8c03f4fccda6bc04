/** Saves what the page has as a file. */
export const saveAs = (name: string, body: Blob): void => {
  const url = URL.createObjectURL(body)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
