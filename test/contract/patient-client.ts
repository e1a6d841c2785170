import { setTimeout as sleep } from 'node:timers/promises'
import { ApiClient, type Answered, type RequestOptions } from '../support/api-client.ts'

/** Comes back when it is told to. */
export class PatientClient extends ApiClient {
  override async request<T>(
    method: string,
    target: string,
    body: unknown,
    options: RequestOptions,
  ): Promise<Answered<T>> {
    for (;;) {
      const answer = await super.request<T>(method, target, body, options)
      if (answer.status !== 429) return answer
      await sleep(Number(answer.headers.get('retry-after')) * 1_000)
    }
  }
}
