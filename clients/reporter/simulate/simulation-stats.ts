import { LatencyHistogram } from './latency-histogram.ts'

/** Counts the events and requests of a simulation, since its start and since the last printed line. */
export class SimulationStats {
  sent = 0
  acknowledged = 0
  late = 0
  duplicates = 0
  /** The greatest delay of the schedule, in milliseconds. */
  behindMaxMs = 0
  readonly latency = new LatencyHistogram()
  readonly visible = new LatencyHistogram()
  private readonly startedAt = performance.now()
  private last = { at: performance.now(), sent: 0, acknowledged: 0 }
  private lastLatency = new LatencyHistogram()
  private lastBehindMs = 0

  addLatency(ms: number): void {
    this.latency.add(ms)
    this.lastLatency.add(ms)
  }

  addBehind(ms: number): void {
    this.lastBehindMs = ms
    if (ms > this.behindMaxMs) this.behindMaxMs = ms
  }

  /** Makes one line about the time since the last call. */
  nextLine(): string {
    const now = performance.now()
    const seconds = (now - this.last.at) / 1_000
    const sent = rate(this.sent - this.last.sent, seconds)
    const acknowledged = rate(this.acknowledged - this.last.acknowledged, seconds)
    const line =
      `${((now - this.startedAt) / 1_000).toFixed(0).padStart(4)} s  sent ${sent}/s  acknowledged ${acknowledged}/s` +
      `  latency ${percentiles(this.lastLatency)}  visible ${percentiles(this.visible)}` +
      (this.lastBehindMs > BEHIND_SHOWN_MS ? `  BEHIND by ${(this.lastBehindMs / 1_000).toFixed(1)} s` : '')
    this.last = { at: now, sent: this.sent, acknowledged: this.acknowledged }
    this.lastLatency = new LatencyHistogram()
    return line
  }

  /**
   * Makes the lines about the whole simulation.
   *
   * @param ms how long events were sent for
   * @param due how many events were due in that time; undefined when there was no schedule
   */
  summary(ms: number, due: number | undefined): string[] {
    const seconds = ms / 1_000
    return [
      `sent                ${format(this.sent)} events in ${seconds.toFixed(1)} s (${rate(this.sent, seconds)}/s); ${format(this.late)} late, ${format(this.duplicates)} duplicates`,
      `acknowledged        ${format(this.acknowledged)} events (${rate(this.acknowledged, seconds)}/s)`,
      `request latency     ${percentiles(this.latency)}, max ${milliseconds(this.latency.maxMs)} (measured from the time when a request was due)`,
      ...(this.visible.count === 0 ? [] : [this.visibleLine()]),
      ...(due === undefined ? [] : [this.scheduleLine(due)]),
    ]
  }

  private visibleLine(): string {
    const { visible } = this
    return `accepted to visible ${percentiles(visible)}, max ${milliseconds(visible.maxMs)}, of ${format(visible.count)} probes`
  }

  private scheduleLine(due: number): string {
    const unsent = due - this.sent
    const rest = unsent > 0 ? `; ${format(unsent)} events were due and not sent: Tally did not keep up` : ''
    return `behind schedule     ${(this.behindMaxMs / 1_000).toFixed(2)} s at most${rest}`
  }
}

/** A smaller delay is not shown, because timers are never exact. */
const BEHIND_SHOWN_MS = 100

const percentiles = (latency: LatencyHistogram): string =>
  `p50 ${milliseconds(latency.percentile(0.5))} p99 ${milliseconds(latency.percentile(0.99))}`

const milliseconds = (ms: number | undefined): string =>
  ms === undefined ? '–' : `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`

const rate = (count: number, seconds: number): string => format(Math.round(count / Math.max(seconds, 0.001)))

const format = (count: number): string => count.toLocaleString('en-US')
