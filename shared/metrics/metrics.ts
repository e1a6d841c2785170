import { setTimeout as sleep } from 'node:timers/promises'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { droppedLines } from '../logging/standard-error.ts'

/** Adds to the count of one series. */
export type Add = (count?: number) => void
/** Observes one value in one series. */
type Observe = (value: number) => void

/** Values that are read at each scrape. */
interface Gauges {
  /** @param labels the labels’ values, in the order of their names */
  set(labels: readonly string[], value: number): void
  /** Removes every series, because the values are not known any more. */
  clear(): void
}

/**
 * The metrics of a process, in a registry of its own. A series is bound to its labels when the process starts, so that
 * a request costs only additions. Labels have values from closed sets: routes, partitions, outcomes.
 */
export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): (...labels: string[]) => Add
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames?: readonly string[],
  ): (...labels: string[]) => Observe
  gauge(name: string, help: string, labelNames?: readonly string[]): Gauges
  /** Runs a function before each scrape. Such functions set gauges. */
  beforeScrape(refresh: () => void | Promise<void>): void
  scrape(): Promise<{ contentType: string; text: string }>
}

/** The longest time that a scrape waits for values from other systems. Later values appear in the next scrape. */
const REFRESH_MS = 2_000

/** Opens the metrics of a process, with the usual metrics of Node and the count of dropped log lines. */
export function openMetrics(): Metrics {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register })
  new Counter({
    name: 'tally_log_lines_dropped_total',
    help: 'Lines of the log that could not be written.',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLines())
    },
  })
  const refreshes: (() => void | Promise<void>)[] = []
  return {
    counter(name, help, labelNames = []) {
      const counter = new Counter({ name, help, labelNames, registers })
      return (...labels) => {
        const child = counter.labels(...labels)
        child.inc(0) // Prometheus misses the first increase of a series that did not exist before
        return (count = 1) => {
          child.inc(count)
        }
      }
    },
    histogram(name, help, buckets, labelNames = []) {
      const histogram = new Histogram({ name, help, buckets: [...buckets], labelNames, registers })
      return (...labels) => {
        const child = histogram.labels(...labels)
        histogram.zero(Object.fromEntries(labelNames.map((label, n) => [label, labels[n] ?? ''])))
        return (value) => {
          child.observe(value)
        }
      }
    },
    gauge(name, help, labelNames = []) {
      const gauge = new Gauge({ name, help, labelNames, registers })
      if (labelNames.length === 0) gauge.set(NaN)
      return {
        set(labels, value) {
          gauge.labels(...labels).set(value)
        },
        clear() {
          if (labelNames.length === 0) gauge.set(NaN)
          else gauge.reset()
        },
      }
    },
    beforeScrape(refresh) {
      refreshes.push(refresh)
    },
    async scrape() {
      const answered = new AbortController()
      const refreshed = Promise.all(refreshes.map((refresh) => Promise.resolve().then(refresh)))
      await Promise.race([refreshed, sleep(REFRESH_MS, undefined, { signal: answered.signal })]).finally(
        () => {
          answered.abort()
        },
      )
      return { contentType: register.contentType, text: await register.metrics() }
    },
  }
}

/** Buckets in seconds, from a quarter of a millisecond to half a minute. */
export const DURATION_BUCKETS = [
  0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]
