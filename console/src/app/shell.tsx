import './shell.css'
import { type ComponentType, Fragment, Suspense, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { useClient } from '../api/client.ts'
import { callerReading } from '../api/queries/caller.ts'
import { newestEventsReading } from '../api/queries/events.ts'
import { useRead } from '../api/use-read.ts'
import { Boundary } from '../parts/boundary.tsx'
import { Icon } from '../parts/icon.tsx'
import { PageHead } from '../parts/page.tsx'
import { Skeleton } from '../parts/panel.tsx'
import { Empty, Notice } from '../parts/problem.tsx'
import { expectArrival } from './arrivals.ts'
import { Clock } from './clock.tsx'
import { CompanyMenu } from './company-menu.tsx'
import { useKeydown } from './effects.ts'
import { Link } from './link.tsx'
import { menuOf } from './menu.ts'
import { PAGES } from './pages.ts'
import { prefer, type Theme, usePreferences } from './preferences.ts'
import { pathOf, ROUTES } from './routes.ts'
import { SearchDialog } from './search.tsx'
import { isTyping, ShortcutsDialog } from './shortcuts.tsx'
import { isOverheard } from './sign-in.tsx'

type Overlay = 'search' | 'shortcuts'

/** What is around every page: the header, the menu and the keyboard. */
export function Shell() {
  const [path] = useLocation()
  const [overlay, setOverlay] = useState<Overlay>()
  const [openedOn, setOpenedOn] = useState(path)
  const [isMenuOpen, setMenuOpen] = useState(false)
  // Back and forward leave what was opened over the page, too.
  if (openedOn !== path) {
    setOpenedOn(path)
    setOverlay(undefined)
    setMenuOpen(false)
  }
  useShortcuts(setOverlay)
  return (
    <div className="shell">
      <a className="shell__skip" href="#content">
        Skip to the content
      </a>
      <header className="shell__head">
        <button
          type="button"
          className="button button--bare shell__menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          aria-label="Menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name="menu" />
        </button>
        <span className="shell__name">Tally</span>
        <button
          type="button"
          className="shell__search"
          aria-keyshortcuts="/ Control+K"
          onClick={() => setOverlay('search')}
        >
          <Icon name="search" />
          <span className="shell__search-text">Search account, customer, id …</span>
          <kbd className="shell__search-key" aria-hidden="true">
            /
          </kbd>
        </button>
        <ZoneSwitch />
        <ThemeSwitch />
        <CompanyMenu />
      </header>
      <Menu isOpen={isMenuOpen} onFollow={() => setMenuOpen(false)} />
      <main id="content" className="shell__content" tabIndex={-1}>
        <Notices />
        <CurrentPage />
      </main>
      {overlay === 'search' && <SearchDialog onClose={() => setOverlay(undefined)} />}
      {overlay === 'shortcuts' && <ShortcutsDialog onClose={() => setOverlay(undefined)} />}
    </div>
  )
}

/** How long a second key may come after `g`. */
const SECOND_KEY_MS = 1_500

function useShortcuts(open: (overlay: Overlay) => void): void {
  const [, navigate] = useLocation()
  const client = useClient()
  const [goneAt, setGoneAt] = useState(0)
  useKeydown((event) => {
    // A form in a dialog would be left without a question.
    if (event.target instanceof Element && event.target.closest('dialog') !== null) return
    if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
      event.preventDefault()
      open('search')
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const isSecond = event.timeStamp - goneAt < SECOND_KEY_MS && goneAt > 0
    setGoneAt(event.key === 'g' ? event.timeStamp : 0)
    const entry = menuOf(client).find(({ letter }) => letter === event.key)
    if (isSecond && entry !== undefined) {
      expectArrival()
      navigate(pathOf(entry.route, {}))
    } else if (event.key === '/') {
      event.preventDefault()
      open('search')
    } else if (event.key === '?') open('shortcuts')
  })
}

function ZoneSwitch() {
  const { zone } = usePreferences()
  const other = zone === 'utc' ? 'local' : 'utc'
  return (
    <button
      type="button"
      className="button button--bare"
      aria-label={`Times are ${WHERE[zone]}. Show them ${WHERE[other]}.`}
      title={`Times are ${WHERE[zone]}`}
      onClick={() => prefer({ zone: other })}
    >
      {zone === 'utc' ? 'UTC' : 'Local'}
    </button>
  )
}

const WHERE = { utc: 'in UTC', local: 'in local time' }

const NEXT_THEME: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const THEME_NAMES: Record<Theme, string> = { system: '', light: 'Light', dark: 'Dark' }

function ThemeSwitch() {
  const { theme } = usePreferences()
  return (
    <button
      type="button"
      className="button button--bare"
      aria-label={`Theme: ${theme}. Change to ${NEXT_THEME[theme]}.`}
      title={`Theme: ${theme}`}
      onClick={() => prefer({ theme: NEXT_THEME[theme] })}
    >
      <Icon name="theme" />
      <span className="shell__theme">{THEME_NAMES[theme]}</span>
    </button>
  )
}

function Menu({ isOpen, onFollow }: { isOpen: boolean; onFollow: () => void }) {
  const client = useClient()
  const [path] = useLocation()
  return (
    <nav id="menu" className={isOpen ? 'shell__menu shell__menu--open' : 'shell__menu'} aria-label="Pages">
      {menuOf(client).map(({ route, label, section }, index, entries) => (
        <Fragment key={route}>
          {section !== undefined && section !== entries[index - 1]?.section && (
            <span className="shell__section">{section}</span>
          )}
          <Link
            to={route}
            parameters={{}}
            className="shell__entry"
            isCurrent={path === ROUTES[route] || path.startsWith(`${ROUTES[route]}/`)}
            onFollow={onFollow}
          >
            {label}
          </Link>
        </Fragment>
      ))}
      <a className="shell__entry shell__entry--apart" href="/docs">
        API
      </a>
    </nav>
  )
}

/** What is said above every page. It asks who is signed in every five seconds, which finds out a key that was revoked. */
function Notices() {
  const client = useClient()
  const { data, error } = useRead(callerReading(client))
  const { caller } = client
  const now = data ?? caller
  const [loaded, setLoaded] = useState<string>()
  // What this tab has loaded is of the version that answers first.
  if (loaded === undefined && data !== undefined) setLoaded(data.version)
  return (
    <div className="shell__notices" role="status">
      {isOverheard() && (
        <Notice tone="warn">
          This page came over plain http. Anyone who listens to the network can read your key.
        </Notice>
      )}
      {error !== null && data !== undefined && (
        <Notice tone="warn">Tally does not answer. What is shown may be old.</Notice>
      )}
      {loaded !== undefined && loaded !== now.version && (
        <Notice tone="warn">
          <span>Tally was updated.</span>
          <button type="button" className="button" onClick={() => window.location.reload()}>
            Reload
          </button>
        </Notice>
      )}
      <Clock caller={now} />
    </div>
  )
}

/** What a key may see that may not read. Keys and the trail say themselves which permission they need. */
const WITHOUT_READING = [ROUTES.start, ROUTES.keys, ROUTES.trail]

type PageName = keyof typeof PAGES
const PAGE_ROUTES = Object.entries(PAGES) as [PageName, ComponentType<{ parameters: never }>][]

function CurrentPage() {
  const [path] = useLocation()
  const client = useClient()
  const mayRead = client.may('read:all')
  if (path === '/') return mayRead ? <Landing /> : <Redirect to={pathOf('start', {})} replace />
  if (!mayRead && !WITHOUT_READING.some((known) => known === path)) return <MayNotRead />
  return (
    <Boundary key={path}>
      <Suspense fallback={<Skeleton />}>
        <Switch>
          {PAGE_ROUTES.map(([name, Page]) => (
            <Route key={name} path={ROUTES[name]}>
              {(parameters: object) => <Page parameters={parameters as never} />}
            </Route>
          ))}
          <Route>
            <NoPage />
          </Route>
        </Switch>
      </Suspense>
    </Boundary>
  )
}

/** Where a company begins: with its first steps until it has an event, and then with the overview. */
function Landing() {
  const { data, error } = useRead(newestEventsReading(useClient(), { limit: 1 }))
  if (data === undefined && error === null) return <Skeleton />
  return <Redirect to={pathOf(data?.data.length === 0 ? 'start' : 'overview', {})} replace />
}

function NoPage() {
  return (
    <>
      <PageHead heading="There is no such page" />
      <Link to="accounts" parameters={{}}>
        Go to the accounts
      </Link>
    </>
  )
}

function MayNotRead() {
  return (
    <>
      <PageHead heading="This key may not read" />
      <Empty>
        <p>
          Its permissions are in the menu at the top right. Pages need <code>read:all</code>: sign in with
          another key.
        </p>
      </Empty>
    </>
  )
}
