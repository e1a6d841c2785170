import type { Setting } from '../../shared/config/env-reader.ts'

/** The settings in force as lines of text, those that differ from their defaults marked with a star. */
export function settingsTable(settings: readonly Setting[]): string[] {
  const width = Math.max(...settings.map(({ name }) => name.length))
  return settings.map(({ name, value, defaultText, about }) => {
    const mark = value === (defaultText ?? '') ? ' ' : '*'
    return `${mark} ${name.padEnd(width)}  ${value === '' ? '(unset)' : value}  # ${about}`
  })
}

/**
 * The settings as rows of a Markdown table, as README.md holds them.
 *
 * @internal
 */
export function settingsMarkdown(settings: readonly Setting[]): string[] {
  return settings.map(
    ({ name, defaultText, about }) => `| \`${name}\` | ${defaultText ?? 'unset'} | ${about} |`,
  )
}
