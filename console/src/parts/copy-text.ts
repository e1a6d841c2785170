/** Puts a text on the clipboard. Over plain http pages have none, so there the text is selected and copied as by hand. */
export async function copyText(text: string): Promise<void> {
  // On such a page the property is missing, whatever its type says.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard !== undefined) {
    await clipboard.writeText(text)
    return
  }
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (!isCopied) throw new Error('the browser did not copy')
}
