import { DomainError } from '../../shared/errors/domain-error.ts'
import type { DiskSpace } from '../../shared/lifecycle/disk-space.ts'

/** What waits until the disk of DATA_DIR has room again. */
export interface RequiredRoom {
  /** @throws DomainError suspended while no usage is taken */
  forUsage: () => void
  /** @throws DomainError suspended while nothing is written */
  forWrites: () => void
  /** Whether usage that was taken is loaded. */
  forLoading: () => boolean
}

/**
 * What is refused as room gets scarce. Usage first: most of what is written is usage, and it is sent again. Grants,
 * accounts and the like are small, and go on until there is next to no room; reads go on for as long as the engines do.
 *
 * @param disk undefined where both databases are servers: their disks are not ours to see
 * @param holdsLog whether PostgreSQL is on that disk; the embedded ClickHouse alone only keeps the loader waiting
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
