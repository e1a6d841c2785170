import type { Page } from 'playwright-core'

/**
 * Everything that the page's cache of queries and writes has, as JSON. React keeps the tree of the page at its root,
 * and a part of the tree has the cache.
 */
export const queryCaches = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    const root = document.querySelector('#root')
    const name = Object.keys(root).find((key) => key.startsWith('__reactContainer$'))
    for (let fiber = root[name].stateNode.current; fiber !== null; fiber = fiber.child) {
      const client = fiber.memoizedProps?.client
      if (client?.getQueryCache === undefined) continue
      const all = [client.getQueryCache(), client.getMutationCache()].map((cache) => cache.getAll())
      return JSON.stringify(all.map((some) => some.map(({ queryKey, state }) => [queryKey, state])))
    }
    throw new Error('the page has no cache of queries')
  })()`)
