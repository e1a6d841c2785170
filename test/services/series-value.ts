/** The value of a series, given with its labels as a scrape shows them; NaN when it is not there. */
export const seriesValue = (scraped: string, series: string): number =>
  Number(
    scraped
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')
      .at(-1),
  )
