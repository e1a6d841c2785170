import { DIGEST_ROW } from '../../../shared/clickhouse/events/usage-digests.ts'
import { type Micros, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import type { LogLineDigest } from '../../../shared/usage-lines/log-line-digest.ts'
import type { LogLinePosition } from './read-log-lines.ts'

/**
 * The state of a line:
 *
 * - open: its event is not looked up yet;
 * - counted: its event counts with this line;
 * - superseded: the event counts with another report of the same content;
 * - differing: the event counts with a later version, whose content may differ;
 * - odd: the line must be checked in detail.
 */
export const FATE = { open: 0, counted: 1, superseded: 2, differing: 3, odd: 4 } as const
type Fate = (typeof FATE)[keyof typeof FATE]

/** The verdict of the lines on an entry in the list of events: see verdictOn. */
export type LogLineVerdict = 'counts' | 'superseded' | 'elsewhere' | undefined

const WORDS = 4
const NONE = -1

/**
 * A hash table of reports in the log, by namespace and id. A report takes some 90 bytes. Reports in one bucket form a
 * chain, which includes all reports of the same event.
 *
 * Why arrays of numbers: a million objects with texts take gigabytes, and their garbage collection takes longer than
 * the comparison.
 */
export class LogLineTable {
  readonly capacity: number
  size = 0
  private readonly ids: Uint32Array
  private readonly digests: Uint32Array
  /** The low half of each version, then the high half. Reading a bigint would allocate memory. */
  private readonly versions: Uint32Array
  private readonly acceptedAts: Float64Array
  private readonly offsets: Float64Array
  private readonly partitions: Uint32Array
  private readonly lineNumbers: Uint32Array
  private readonly namespaces: Uint32Array
  private readonly fates: Uint8Array
  private readonly listed: Uint8Array
  /** The second at which the event's row was accepted, if that row is not from this line. */
  private readonly rowSeconds: Uint32Array
  private readonly next: Int32Array
  private readonly heads: Int32Array
  private readonly namespaceIds: string[] = []
  private readonly namespaceNumbers = new Map<string, number>()
  private readonly scratch = Buffer.alloc(32)

  /** @param capacity the maximum number of lines in the table */
  constructor(capacity: number) {
    this.capacity = capacity
    this.ids = new Uint32Array(capacity * WORDS)
    this.digests = new Uint32Array(capacity * WORDS)
    this.versions = new Uint32Array(capacity * 2)
    this.acceptedAts = new Float64Array(capacity)
    this.offsets = new Float64Array(capacity)
    this.partitions = new Uint32Array(capacity)
    this.lineNumbers = new Uint32Array(capacity)
    this.namespaces = new Uint32Array(capacity)
    this.fates = new Uint8Array(capacity)
    this.listed = new Uint8Array(capacity)
    this.rowSeconds = new Uint32Array(capacity)
    this.next = new Int32Array(capacity)
    this.heads = new Int32Array(2 ** Math.ceil(Math.log2(capacity * 2))).fill(NONE)
  }

  add({ namespaceId, id, digest, acceptedAt, version }: LogLineDigest, position: LogLinePosition): void {
    const { scratch } = this
    const line = this.size++
    scratch.write(id, 0, 'hex')
    scratch.write(digest, 16, 'hex')
    for (let word = 0; word < WORDS; word++) {
      this.ids[line * WORDS + word] = scratch.readUInt32LE(word * 4)
      this.digests[line * WORDS + word] = scratch.readUInt32LE(16 + word * 4)
    }
    scratch.writeBigUInt64LE(version, 0)
    this.versions[line * 2] = scratch.readUInt32LE(0)
    this.versions[line * 2 + 1] = scratch.readUInt32LE(4)
    this.acceptedAts[line] = acceptedAt
    this.offsets[line] = position.offset
    this.partitions[line] = position.partition
    this.lineNumbers[line] = position.line
    this.namespaces[line] = this.numberOf(namespaceId)
    this.fates[line] = FATE.open
    this.listed[line] = 0
    this.link(line)
  }

  idOf(line: number): string {
    for (let word = 0; word < WORDS; word++)
      this.scratch.writeUInt32LE(this.ids[line * WORDS + word] ?? 0, word * 4)
    return this.scratch.toString('hex', 0, 16)
  }

  /** The second in which the usage occurred. The id begins with it. */
  occurredSecond(line: number): number {
    this.scratch.writeUInt32LE(this.ids[line * WORDS] ?? 0, 0)
    return this.scratch.readUInt32BE(0)
  }

  acceptedAt = (line: number): Micros => this.acceptedAts[line] ?? 0
  acceptedSecond = (line: number): number => unixSeconds(this.acceptedAt(line))
  namespaceOf = (line: number): string => this.namespaceIds[this.namespaces[line] ?? 0] ?? ''
  fateOf = (line: number): Fate => (this.fates[line] ?? FATE.open) as Fate
  isListed = (line: number): boolean => this.listed[line] === 1
  positionOf = (line: number): LogLinePosition => ({
    partition: this.partitions[line] ?? 0,
    offset: this.offsets[line] ?? 0,
    line: this.lineNumbers[line] ?? 0,
  })

  /** The second at which the event's row was accepted, for a line that is superseded or differing. */
  rowSecond = (line: number): number => this.rowSeconds[line] ?? 0

  /**
   * Sets the state of an event's open lines, by a row that counts for the event. If the event has a second row, its
   * lines become odd.
   *
   * @param rows contains the row at the offset `at`, in the layout of DIGEST_ROW
   * @param first the first line that may be open; earlier lines are matched already
   */
  judge(namespaceId: string, rows: Buffer, at: number, first: number): void {
    for (let line = this.find(namespaceId, rows, at + DIGEST_ROW.id); line !== NONE;) {
      if (line >= first)
        this.fates[line] = this.fates[line] === FATE.open ? this.judged(line, rows, at) : FATE.odd
      line = this.findNext(line)
    }
  }

  /**
   * Finds the verdict of the lines on an entry in the list of events. Lines that count with this entry are marked as
   * listed.
   *
   * - counts: the row of this entry counts;
   * - superseded: another row, accepted in the same second, counts;
   * - elsewhere: a row accepted in another second counts;
   * - undefined: no line decides it.
   */
  verdictOn(namespaceId: string, id: Buffer, second: number): LogLineVerdict {
    let verdict: LogLineVerdict
    for (let line = this.find(namespaceId, id, 0); line !== NONE; line = this.findNext(line)) {
      const fate = this.fates[line]
      if (fate === FATE.counted && this.acceptedSecond(line) === second) {
        this.listed[line] = 1
        verdict = 'counts'
      } else if ((fate === FATE.superseded || fate === FATE.differing) && verdict !== 'counts')
        verdict = this.rowSeconds[line] === second || verdict === 'superseded' ? 'superseded' : 'elsewhere'
    }
    return verdict
  }

  /** Excludes a line from the comparison with the list of events. */
  setOdd(line: number): void {
    this.fates[line] = FATE.odd
  }

  /** Drops lines that were accepted before a second. */
  forgetBefore(second: number): void {
    let kept = 0
    for (let line = 0; line < this.size; line++)
      if (this.acceptedSecond(line) >= second) this.move(line, kept++)
    this.size = kept
    this.heads.fill(NONE)
    for (let line = 0; line < kept; line++) this.link(line)
  }

  private judged(line: number, rows: Buffer, at: number): Fate {
    const low = rows.readUInt32LE(at + DIGEST_ROW.version)
    const high = rows.readUInt32LE(at + DIGEST_ROW.version + 4)
    const ownLow = this.versions[line * 2] ?? 0
    const ownHigh = this.versions[line * 2 + 1] ?? 0
    const acceptedAt =
      rows.readInt32LE(at + DIGEST_ROW.acceptedAt + 4) * 2 ** 32 +
      rows.readUInt32LE(at + DIGEST_ROW.acceptedAt)
    const saysTheSame =
      rows[at + DIGEST_ROW.isReport] === 1 && this.isAt(this.digests, line, rows, at + DIGEST_ROW.digest)
    if (high > ownHigh || (high === ownHigh && low > ownLow)) {
      this.rowSeconds[line] = unixSeconds(acceptedAt)
      return saysTheSame ? FATE.superseded : FATE.differing
    }
    const isThis = high === ownHigh && low === ownLow && acceptedAt === this.acceptedAts[line]
    return isThis && saysTheSame ? FATE.counted : FATE.odd
  }

  private find(namespaceId: string, bytes: Buffer, at: number): number {
    const number = this.namespaceNumbers.get(namespaceId)
    if (number === undefined) return NONE
    let line = this.heads[bytes.readUInt32LE(at + 12) & (this.heads.length - 1)] ?? NONE
    while (line !== NONE && !(this.namespaces[line] === number && this.isAt(this.ids, line, bytes, at)))
      line = this.next[line] ?? NONE
    return line
  }

  /** The next line of the same event. */
  private findNext(line: number): number {
    let other = this.next[line] ?? NONE
    while (other !== NONE && !this.isOfSame(line, other)) other = this.next[other] ?? NONE
    return other
  }

  private isOfSame(line: number, other: number): boolean {
    for (let word = 0; word < WORDS; word++)
      if (this.ids[line * WORDS + word] !== this.ids[other * WORDS + word]) return false
    return this.namespaces[line] === this.namespaces[other]
  }

  private isAt(words: Uint32Array, line: number, bytes: Buffer, at: number): boolean {
    for (let word = 0; word < WORDS; word++)
      if (words[line * WORDS + word] !== bytes.readUInt32LE(at + word * 4)) return false
    return true
  }

  private link(line: number): void {
    const head = (this.ids[line * WORDS + WORDS - 1] ?? 0) & (this.heads.length - 1)
    this.next[line] = this.heads[head] ?? NONE
    this.heads[head] = line
  }

  private move(from: number, to: number): void {
    if (from === to) return
    for (const words of [this.ids, this.digests])
      words.copyWithin(to * WORDS, from * WORDS, (from + 1) * WORDS)
    this.versions.copyWithin(to * 2, from * 2, (from + 1) * 2)
    for (const numbers of [
      this.acceptedAts,
      this.offsets,
      this.partitions,
      this.lineNumbers,
      this.namespaces,
      this.fates,
      this.listed,
      this.rowSeconds,
    ])
      numbers[to] = numbers[from] ?? 0
  }

  private numberOf(namespaceId: string): number {
    const existing = this.namespaceNumbers.get(namespaceId)
    if (existing !== undefined) return existing
    this.namespaceNumbers.set(namespaceId, this.namespaceIds.length)
    return this.namespaceIds.push(namespaceId) - 1
  }
}
