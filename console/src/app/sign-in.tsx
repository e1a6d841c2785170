import './sign-in.css'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useSearch } from 'wouter/use-browser-location'
import { call, CallError } from '../api/call.ts'
import type { Schema } from '../api/contract.ts'
import { CopyButton } from '../parts/id.tsx'
import { Notice, Problem } from '../parts/problem.tsx'
import { expectArrival } from './arrivals.ts'
import { activate, type SignedIn, signIn, useKeys } from './keys.ts'

const FORBIDDEN = 403

/** Asks for a key. It stays in this tab, and is sent to this address alone. */
export function SignInPage() {
  const { all, lost } = useKeys()
  const goOn = useGoOn()
  return (
    <main className="sign-in">
      <title>Sign in · Tally</title>
      <h1 className="sign-in__heading">Tally</h1>
      {lost !== undefined && <Notice tone="bad">{lost}</Notice>}
      {isOverheard() && (
        <Notice tone="warn">
          This page came over plain http. Anyone who listens to the network can read your key.
        </Notice>
      )}
      <KeyForm onDone={goOn} />
      {all.map((one) => (
        <OtherCompany key={one.caller.api_key.id} signedIn={one} onDone={goOn} />
      ))}
      {isLoopback() && <WhereKeysAre />}
    </main>
  )
}

/** Leads to where one came from. Only a path below the console is taken. */
function useGoOn(): () => void {
  const [, navigate] = useLocation()
  const from = new URLSearchParams(useSearch()).get('from') ?? ''
  return () => {
    expectArrival()
    navigate(/^\/[a-z]/.test(from) ? from : '/', { replace: true })
  }
}

function KeyForm({ onDone }: { onDone: () => void }) {
  const [typed, setTyped] = useState('')
  const key = typed.trim()
  const check = useMutation({
    mutationFn: async () => {
      const caller = (await call(key, { method: 'GET', target: '/v2/caller' })) as Schema<'Caller'>
      if (caller.account_id !== null)
        throw new CallError(FORBIDDEN, 'this key reads one account: sign in with a key of the company')
      return caller
    },
    onSuccess: (caller) => {
      signIn({ key, caller })
      onDone()
    },
  })
  // A header can carry no other characters.
  const isKey = /^[\x21-\x7e]+$/.test(key)
  return (
    <form
      className="sign-in__form"
      onSubmit={(event) => {
        event.preventDefault()
        if (isKey && !check.isPending) check.mutate()
      }}
    >
      <label className="field__label" htmlFor="key">
        API key
      </label>
      <input
        id="key"
        className="input input--mono"
        type="password"
        autoComplete="off"
        autoFocus
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
        }}
      />
      <button type="submit" className="button button--main" disabled={!isKey || check.isPending}>
        {check.isPending ? 'Signing in…' : 'Sign in'}
      </button>
      {check.error !== null && <Problem error={check.error} />}
      <p className="sign-in__note">
        The key stays in this tab until you sign out. A browser may restore a tab that was closed, with its
        key.
      </p>
    </form>
  )
}

function OtherCompany({ signedIn: { caller }, onDone }: { signedIn: SignedIn; onDone: () => void }) {
  return (
    <button
      type="button"
      className="button"
      onClick={() => {
        activate(caller.api_key.id)
        onDone()
      }}
    >
      Go on as <bdi>{caller.company.name}</bdi> · {caller.company.mode}
    </button>
  )
}

/** The files in which `npm start` keeps the first keys. */
function WhereKeysAre() {
  return (
    <section className="sign-in__keys" aria-labelledby="keys">
      <h2 id="keys">Where is my key?</h2>
      <p>
        <code>npm start</code> makes two companies, and keeps their keys in its folder:
      </p>
      <ul>
        <KeyFile name=".data/test-api-key" about="sandbox, for tests" />
        <KeyFile name=".data/api-key" about="default, for real data" />
      </ul>
    </section>
  )
}

function KeyFile({ name, about }: { name: string; about: string }) {
  const command = `cat ${name}`
  return (
    <li>
      <code>{command}</code>
      <CopyButton text={command} label={`Copy ${command}`} />
      <span>{about}</span>
    </li>
  )
}

const isLoopback = (): boolean =>
  /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(window.location.hostname)

/** Whether others on the network could read what is sent. */
export const isOverheard = (): boolean => window.location.protocol === 'http:' && !isLoopback()
