import { newApiKey, PERMISSIONS } from '../../shared/domain/api-key.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { type Answered, ApiClient, type RequestOptions } from '../support/api-client.ts'
import { insertKey } from '../support/insert-key.ts'

/** A client of a test company that no limit stops, because each request has a new key. */
export class UnlimitedClient extends ApiClient {
  private readonly pool: Pool
  private readonly company: string

  /** @param company its name */
  constructor(url: string, pool: Pool, company: string) {
    super(url, undefined)
    this.pool = pool
    this.company = company
  }

  override async request<T>(
    method: string,
    target: string,
    body: unknown,
    options: RequestOptions,
  ): Promise<Answered<T>> {
    const found = await companyRepository(this.pool).findByName(this.company)
    const key = newApiKey('test')
    await insertKey(this.pool, { companyId: found?.id ?? '', key, permissions: [...PERMISSIONS] })
    return new ApiClient(this.url, key).request<T>(method, target, body, options)
  }
}
