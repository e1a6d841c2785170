import { useClient } from '../../api/client.ts'
import type { Permission } from '../../api/contract.ts'

const ALL: readonly { permission: Permission; about: string }[] = [
  { permission: 'read:all', about: 'read everything but keys and the trail' },
  { permission: 'write:all', about: 'report usage, and change everything but keys' },
  { permission: 'manage:keys', about: 'make and revoke keys, and read the trail' },
]

/** Chooses what a key may do. It gets nothing that the key in use lacks: the server would refuse it. */
export function Permissions({
  chosen,
  onChange,
}: {
  chosen: readonly Permission[]
  onChange: (permissions: readonly Permission[]) => void
}) {
  const client = useClient()
  const others = (permission: Permission) => chosen.filter((other) => other !== permission)
  return (
    <fieldset className="checks">
      <legend className="field__label">It may</legend>
      {ALL.map(({ permission, about }) => (
        <label key={permission} className="checks__option">
          <input
            type="checkbox"
            checked={chosen.includes(permission)}
            disabled={!client.may(permission)}
            onChange={({ target }) =>
              onChange(target.checked ? [...others(permission), permission] : others(permission))
            }
          />
          <span>
            <code>{permission}</code> {about}
            {!client.may(permission) && ' (your own key lacks it)'}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
