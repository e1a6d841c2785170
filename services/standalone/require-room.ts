import { DomainError } from '../../shared/errors/domain-error.ts'
import type { DiskSpace } from '../../shared/lifecycle/disk-space.ts'

/** Refuses work while the disk of DATA_DIR has too little room. */
export interface RequiredRoom {
  /** @throws DomainError suspended while no usage is taken */
  forUsage: () => void
  /** @throws DomainError suspended while nothing is written */
  forWrites: () => void
  /** Whether there is room to load accepted usage. */
  forLoading: () => boolean
}

/**
 * Decides which requests are refused when room gets scarce. Usage is refused first, because most writes are usage, and
 * senders try again. Other writes, such as grants and accounts, are small, and are refused only when there is almost no
 * room. Reads are never refused.
 *
 * @param disk undefined when both databases are servers, because we cannot see their disks
 * @param holdsLog whether PostgreSQL is on that disk. If only the embedded ClickHouse is, only the loader has to wait
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
