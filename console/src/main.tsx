import './styles/tokens.css'
import './styles/base.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import { expectArrival } from './app/arrivals.ts'
import { keepFocus } from './app/keep-focus.ts'
import { applyTheme } from './app/preferences.ts'

applyTheme()
keepFocus()
window.addEventListener('popstate', expectArrival)

const root = document.querySelector('#root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
