import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { Page, Tally } from '../../sdk/src/node.ts'
import { callOperation } from './call-operation.ts'
import type { CommandTools } from './commands/command-tools.ts'
import { mayGoOn } from './confirm.ts'
import type { CliOperation } from './operation.ts'
import type { Item } from './print.ts'
import { prepareRequest, type TypedRequest } from './request.ts'

/** Calls an operation with what was typed, and shows its answer. */
export async function runOperation(
  client: Tally,
  operation: CliOperation,
  typed: TypedRequest,
  isAllPages: boolean,
  { context, options, printer }: CommandTools,
): Promise<void> {
  const request = await prepareRequest(operation, typed, context)
  if (!(await mayGoOn(client, operation, request.path, options, context)))
    throw new StartupError('nothing was done')
  const answer: unknown = await callOperation(client, operation, request, context.signal)
  if (operation.isList) await showPages(answer as Page<Item>, isAllPages, { context, options, printer })
  else if (typeof answer === 'string') printer.text(answer)
  else if (options.json === true) printer.json(answer)
  else printer.object(answer as Item)
}

async function showPages(
  first: Page<Item>,
  isAllPages: boolean,
  { options, printer }: CommandTools,
): Promise<void> {
  const items: Item[] = []
  for (let page: Page<Item> | undefined = first; page !== undefined; page = await page.next()) {
    const { data, has_more } = page
    if (options.json === true) printer.json({ data, has_more })
    // A table is as wide as its widest cell, so all of it must be there.
    else if (printer.isTable) items.push(...data)
    else printer.items(data)
    if (isAllPages) continue
    if (has_more && options.json !== true) printer.note('there are more: --all-pages shows them')
    break
  }
  if (printer.isTable) printer.items(items)
}
