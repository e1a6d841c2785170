/** What was done is called as the button that does it. */
const UNDONE: Readonly<Record<string, string>> = {
  unarchived: 'brought back',
  uncanceled: 'cancellation taken back',
}

/** The action of an entry of the trail, `refill_configuration.changed`, as words. */
export function actionWords(action: string): string {
  const [kind = '', done = ''] = action.split('.')
  return `${kind.replaceAll('_', ' ')} ${UNDONE[done] ?? done.replaceAll('_', ' ')}`.trim()
}
