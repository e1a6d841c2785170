import type { CommittedOffset } from 'kafkajs/src/cluster/index.js'
import type { Position } from '../event-log.ts'
import type { KafkaConnection } from './kafka-connection.ts'

/** The first consumer group on a Kafka must wait until Kafka has made its own topic for offsets. */
const COORDINATOR_WITHIN_MS = 10_000

/**
 * For commits by a client that Kafka does not count as a member. Kafka accepts such commits while the group has no
 * members.
 */
const NOT_A_MEMBER = { groupGenerationId: -1, memberId: '' }

/**
 * The offsets of a consumer group, stored in Kafka, so that Kafka's own tools can show the group's lag and change its
 * offsets. The members of the group are stored in PostgreSQL: see GroupMembership.
 */
export class GroupOffsets {
  private readonly connection: KafkaConnection
  private readonly topic: string
  private readonly groupId: string
  private readonly owner: string

  /**
   * @param owner the name of the installation. It is stored with each offset, so that another Tally finds out that the
   *   topic is not its own
   */
  constructor(connection: KafkaConnection, topic: string, groupId: string, owner: string) {
    this.connection = connection
    this.topic = topic
    this.groupId = groupId
    this.owner = owner
  }

  /** @returns the offsets by partition; partitions without a commit are left out */
  async fetch(partitions: readonly number[]): Promise<Map<number, number>> {
    return new Map((await this.list(partitions)).map(({ partition, offset }) => [partition, Number(offset)]))
  }

  /** The installations that committed to the group so far. If there are several, their usage is mixed. */
  async listOwners(partitions: readonly number[]): Promise<string[]> {
    const owners = (await this.list(partitions)).map(({ metadata }) => metadata ?? '')
    return [...new Set(owners)].filter((owner) => owner !== '')
  }

  private async list(partitions: readonly number[]): Promise<CommittedOffset[]> {
    const { responses } = await this.connection.usePersistently(async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: this.groupId })
      return coordinator.offsetFetch({
        groupId: this.groupId,
        topics: [{ topic: this.topic, partitions: partitions.map((partition) => ({ partition })) }],
      })
    }, COORDINATOR_WITHIN_MS)
    return responses.flatMap((response) => response.partitions).filter(({ offset }) => Number(offset) >= 0)
  }

  async commit(positions: readonly Position[]): Promise<void> {
    if (positions.length === 0) return
    await this.connection.use(async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: this.groupId })
      await coordinator.offsetCommit({
        groupId: this.groupId,
        ...NOT_A_MEMBER,
        topics: [
          {
            topic: this.topic,
            partitions: positions.map(({ partition, offset }) => ({
              partition,
              offset: String(offset),
              metadata: this.owner,
            })),
          },
        ],
      })
    })
  }
}
