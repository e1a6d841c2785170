import { DomainError } from '../../shared/errors/domain-error.ts'
import type { DiskSpace } from '../../shared/lifecycle/disk-space.ts'

/** Refuses work until the disk of DATA_DIR has room again. */
export interface RequiredRoom {
  /** @throws DomainError suspended while no usage is taken */
  forUsage: () => void
  /** @throws DomainError suspended while nothing is written */
  forWrites: () => void
  /** Whether there is room to load usage that was taken. */
  forLoading: () => boolean
}

/**
 * What is refused as room gets scarce. Usage is refused first: it is most of what is written, and senders try again.
 * Grants, accounts and the like are small, and are written until there is almost no room. Reads go on for as long as
 * the engines work.
 *
 * @param disk undefined when both databases are servers, whose disks we cannot see
 * @param holdsLog whether PostgreSQL is on that disk; if only the embedded ClickHouse is, only the loader has to wait
 */
export const requireRoom = (disk: DiskSpace | undefined, holdsLog: boolean): RequiredRoom => ({
  forUsage() {
    if (holdsLog && disk !== undefined && disk.room() !== 'enough')
      throw new DomainError(
        'suspended',
        'the disk of this Tally is nearly full: no usage is taken until there is room again, try again later',
      )
  },
  forWrites() {
    if (holdsLog && disk?.room() === 'none')
      throw new DomainError(
        'suspended',
        'the disk of this Tally is full: nothing is written until there is room again, try again later',
      )
  },
  forLoading: () => disk?.room() !== 'none',
})
