/** The current metrics of a process. */
export interface Scraped {
  /** The sum over all label values; 0 when there is none. */
  sum: (name: string) => number
}

/** @param adminUrl the admin port of a process */
export async function scrape(adminUrl: string): Promise<Scraped> {
  return readMetrics(await (await fetch(`${adminUrl}/metrics`)).text())
}

/** Parses Prometheus' text format. */
export function readMetrics(text: string): Scraped {
  const sums = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, name, value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? []
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value))
  }
  return { sum: (name) => sums.get(name) ?? 0 }
}
