import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { call, CallError, isRepeated, pauseMs } from '../api/call.ts'
import { type Client, ClientContext } from '../api/client.ts'
import { activeOf, dropRefused, onSwitch, type SignedIn, useKeys } from './keys.ts'
import { BASE, pathOf, queryText, ROUTES } from './routes.ts'
import { Shell } from './shell.tsx'
import { SignInPage } from './sign-in.tsx'

const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: isRepeated, retryDelay: pauseMs, networkMode: 'always' },
    mutations: { networkMode: 'always' },
  },
})
onSwitch(() => {
  queries.clear()
})

/** The whole console. */
export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Router base={BASE}>
        <Switch>
          <Route path={ROUTES['sign-in']}>
            <SignInPage />
          </Route>
          <Route>
            <SignedInOnly />
          </Route>
        </Switch>
      </Router>
    </QueryClientProvider>
  )
}

function SignedInOnly() {
  const signedIn = activeOf(useKeys())
  const [path] = useLocation()
  if (signedIn !== undefined) return <Company key={signedIn.caller.api_key.id} signedIn={signedIn} />
  const from = path === '/' ? undefined : window.location.pathname.slice(BASE.length) + window.location.search
  return <Redirect to={pathOf('sign-in', {}) + queryText({ from })} replace />
}

const UNAUTHORIZED = 401

function Company({ signedIn: { key, caller } }: { signedIn: SignedIn }) {
  const client = useMemo<Client>(
    () => ({
      caller,
      origin: window.location.origin,
      may: (permission) => caller.api_key.permissions.includes(permission),
      withKey: (command) => command.replaceAll('$TALLY_KEY', () => key),
      call: async (request, signal) => {
        try {
          return await call(key, request, signal)
        } catch (err) {
          if (err instanceof CallError && err.status === UNAUTHORIZED) dropRefused(caller.api_key.id)
          throw err
        }
      },
    }),
    [key, caller],
  )
  return (
    <ClientContext value={client}>
      <Shell />
    </ClientContext>
  )
}
