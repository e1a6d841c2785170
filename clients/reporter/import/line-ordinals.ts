import { StartupError } from '../../../shared/errors/startup-error.ts'

/** Words of 32 bits in a slot: three of the digest, then the count; 0 marks an empty slot. */
const SLOT_WORDS = 4
const FIRST_SLOTS = 1 << 12

/**
 * Counts how often each line was seen, by its digest.
 *
 * A slot takes 16 bytes. The table is between 3/8 and 3/4 full, so each different line takes 21 to 43 bytes. While the
 * table grows, it takes half as much again for a moment. A million different lines take some 34 MB, a hundred million
 * some 4 GB. A Map of text would take much more, and is limited to 16 million entries.
 *
 * Why 96 bits of the digest: two different lines with the same bits would share their count. Then an import of the same
 * file in another order could give them other keys. Among a hundred million lines the chance of any such pair is 1 in
 * 10^13.
 */
export class LineOrdinals {
  /** Lines that were equal to an earlier one. */
  repeated = 0
  private table: Uint32Array = allocate(FIRST_SLOTS * SLOT_WORDS)
  private used = 0

  /**
   * Counts a line.
   *
   * @param digest at least 12 bytes of a hash
   * @returns 1 when this line is the first of its kind, 2 when it is the second, …
   */
  next(digest: Buffer): number {
    const a = digest.readUInt32LE(0)
    const b = digest.readUInt32LE(4)
    const c = digest.readUInt32LE(8)
    const slot = slotOf(this.table, a, b, c)
    const count = (this.table[slot + 3] ?? 0) + 1
    this.table[slot + 3] = count
    if (count > 1) {
      this.repeated++
      return count
    }
    this.table.set([a, b, c], slot)
    this.used++
    if (this.used * SLOT_WORDS * 4 > this.table.length * 3) this.grow()
    return 1
  }

  private grow(): void {
    const old = this.table
    this.table = allocate(old.length * 2)
    for (let from = 0; from < old.length; from += SLOT_WORDS) {
      if (old[from + 3] === 0) continue
      const slot = slotOf(this.table, old[from] ?? 0, old[from + 1] ?? 0, old[from + 2] ?? 0)
      this.table.set(old.subarray(from, from + SLOT_WORDS), slot)
    }
  }
}

/** Finds the first word of the slot with the digest, or of the empty slot where the digest belongs. */
function slotOf(table: Uint32Array, a: number, b: number, c: number): number {
  const slots = table.length / SLOT_WORDS
  for (let slot = a % slots; ; slot = (slot + 1) % slots) {
    const at = slot * SLOT_WORDS
    if (table[at + 3] === 0 || (table[at] === a && table[at + 1] === b && table[at + 2] === c)) return at
  }
}

function allocate(words: number): Uint32Array {
  try {
    return new Uint32Array(words)
  } catch (err) {
    throw new StartupError(
      'the input has more different lines than fit into memory: split it so that equal lines stay together, for example by day',
      { cause: err },
    )
  }
}
