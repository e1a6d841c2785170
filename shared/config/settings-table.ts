import type { Setting } from './env-reader.ts'

/** The effective settings as lines of text; a star marks those that differ from their defaults. */
export function settingsTable(settings: readonly Setting[]): string[] {
  const width = Math.max(...settings.map(({ name }) => name.length))
  return settings.map(({ name, value, defaultText, about }) => {
    const mark = value === (defaultText ?? '') ? ' ' : '*'
    return `${mark} ${name.padEnd(width)}  ${value === '' ? '(unset)' : value}  # ${about}`
  })
}

/**
 * The settings as rows of a Markdown table for docs/reference/settings.md: the settings that npm start reads, and which
 * services read each of them.
 *
 * @param services the settings that each service reads when it runs in a process of its own
 * @internal
 */
export function settingsMarkdown(
  settings: readonly Setting[],
  services: ReadonlyMap<string, readonly Setting[]>,
): string[] {
  return settings.map(({ name, defaultText, about }) => {
    const readers = [...services].flatMap(([service, read]) => {
      const setting = read.find((candidate) => candidate.name === name)
      return setting === undefined ? [] : [{ service, text: setting.defaultText }]
    })
    const differing = readers.filter(({ text }) => text !== defaultText)
    const defaults = [
      defaultText ?? 'unset',
      ...differing.map(({ service, text }) => `${service}: ${text ?? 'unset'}`),
    ]
    const by = readers.length === services.size ? 'all' : readers.map(({ service }) => service).join(', ')
    return `| \`${name}\` | ${defaults.join(', ')} | ${by} | ${about} |`
  })
}
