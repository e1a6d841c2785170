import type { ApiClient } from '../../support/api-client.ts'
import { HOSTILE } from '../hostile-texts.ts'

/** Makes keys of all kinds: named by others, replaced, revoked, one that ends, and those of an account. */
export async function makeKeys(api: ApiClient, account: string): Promise<void> {
  const issue = async (fields: object) =>
    (
      await api.create<{ api_key: { id: string } }>('/v2/api-keys', {
        name: 'reports',
        permissions: ['read:all'],
        ...fields,
      })
    ).api_key.id
  for (const name of Object.values(HOSTILE)) await issue({ name })
  await issue({ name: 'until 2100', permissions: ['read:all', 'write:all'], expires_at: 4_102_444_800 })
  const rotated = await issue({ name: 'gateway of the shop' })
  await api.create(`/v2/api-keys/${rotated}/rotate`, { overlap_seconds: 86_400 })
  const revoked = await issue({ name: 'was lost' })
  await api.create(`/v2/api-keys/${revoked}/revoke`, {})
  for (const name of ['portal of Vienna', HOSTILE.markup])
    await issue({
      name,
      account_id: account,
      permissions: ['read:account'],
      expires_at: Math.floor(Date.now() / 1_000) + 86_400,
    })
}
