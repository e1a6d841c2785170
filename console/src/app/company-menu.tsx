import './company-menu.css'
import { useClient } from '../api/client.ts'
import { visibleText } from '../format/visible-text.ts'
import { MAY } from '../parts/keys.ts'
import { Menu } from '../parts/menu.tsx'
import { Text } from '../parts/text.tsx'
import { activate, signOut, useKeys } from './keys.ts'
import { Link } from './link.tsx'

/** Which company and key are in use, with the ways to others. */
export function CompanyMenu() {
  const { caller } = useClient()
  const { company, api_key: key } = caller
  const { all } = useKeys()
  const others = all.filter((other) => other.caller.api_key.id !== key.id)
  return (
    <Menu
      title="Company and key"
      label={
        <span className="company">
          <bdi className="company__name">{visibleText(company.name)}</bdi>
          <span className={`company__mode company__mode--${company.mode}`}>{company.mode}</span>
        </span>
      }
    >
      <dl className="company__facts">
        <dt>Company</dt>
        <dd>
          <Text>{company.name}</Text>, {company.mode === 'test' ? 'for tests' : 'live'}
        </dd>
        <dt>Key</dt>
        <dd>
          <Text>{key.name}</Text> <span className="company__end">…{key.last_characters}</span>
        </dd>
        <dt>It may</dt>
        <dd>{key.permissions.map((permission) => MAY[permission]).join(', ')}</dd>
        <dt>Version</dt>
        <dd>{caller.version}</dd>
      </dl>
      <div className="company__ways">
        {others.map((other) => (
          <button
            key={other.caller.api_key.id}
            type="button"
            className="button"
            onClick={() => {
              activate(other.caller.api_key.id)
            }}
          >
            <bdi>{visibleText(other.caller.company.name)}</bdi> · {other.caller.company.mode}
          </button>
        ))}
        <Link to="sign-in" parameters={{}} className="button">
          Another key
        </Link>
        <button
          type="button"
          className="button"
          onClick={() => {
            signOut(key.id)
          }}
        >
          Sign out
        </button>
      </div>
    </Menu>
  )
}
