import type { Command } from 'commander'
import { UsageError } from '../../../../shared/errors/usage-error.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import type { CliOperation } from '../operation.ts'
import { OPERATIONS } from '../operations.gen.ts'
import { makePrinter } from '../print.ts'
import { runOperation } from '../run-operation.ts'
import { withClient } from './command-tools.ts'
import { wordOf } from './nouns.ts'

interface ApiOptions {
  field?: [string, string][]
  body?: string
  allPages?: true
  idempotencyKey?: string
}

/** Adds `tally api`, which reaches every operation by its id in openapi.yaml. */
export function addApi(program: Command, context: CliContext): void {
  const command = program
    .command('api')
    .summary('Calls any operation by its id in openapi.yaml.')
    .description('Calls any operation by its id in openapi.yaml. Without an id, it lists all operations.')
    .argument('[operation_id]')
    .option(
      '-F, --field <name=value>',
      'A field of the path, the query or the body; null is JSON null. May be repeated.',
      (text: string, before: [string, string][] | undefined) => [...(before ?? []), pairOf(text)],
    )
    .option('--body <file>', 'The whole body as JSON; - is standard input.')
    .option('--idempotency-key <text>', 'The request is done once with this key.')
    .option('--all-pages', 'Gets every page, not only the first.')
  command.action(async (id: string | undefined) => {
    const options = command.optsWithGlobals<GlobalOptions>()
    if (id === undefined) {
      makePrinter(context, options).items(OPERATIONS.map(overview))
      return
    }
    const operation = operationOf(id)
    const typed = typedRequest(operation, command.opts<ApiOptions>())
    await withClient(context, options, (client, tools) =>
      runOperation(client, operation, typed, command.opts<ApiOptions>().allPages === true, tools),
    )
  })
}

const overview = ({ id, resource, method, route }: CliOperation) => ({
  operation: id,
  command: `${wordOf(resource)} ${wordOf(method)}`,
  route,
})

function operationOf(id: string): CliOperation {
  const same = OPERATIONS.find((operation) => operation.id.toLowerCase() === id.toLowerCase())
  if (same !== undefined) return same
  throw new UsageError(`there is no operation ${JSON.stringify(id)}; tally api lists all`)
}

function pairOf(text: string): [string, string] {
  const [, name, value] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError(`-F ${JSON.stringify(text)}: write it as name=value`)
  return [name, value]
}

function typedRequest(operation: CliOperation, { field = [], body, allPages, idempotencyKey }: ApiOptions) {
  const given = new Map(field)
  if (given.size < field.length) throw new UsageError('-F names a field twice')
  if (allPages === true && !operation.isList) throw new UsageError(`${operation.id} has no pages`)
  const isKeyed = operation.isKeyed
  if (idempotencyKey !== undefined && !isKeyed)
    throw new UsageError(`${operation.id} takes no --idempotency-key`)
  const path = operation.path.map((name) => {
    const value = given.get(name)
    if (value === undefined) throw new UsageError(`missing: -F ${name}=…`)
    given.delete(name)
    return value
  })
  const isNull = (name: string, text: string) =>
    text === 'null' && operation.fields.some((one) => one.name === name && one.takesNull)
  return {
    path,
    fields: new Map([...given].filter(([name, text]) => !isNull(name, text))),
    unset: [...given].filter(([name, text]) => isNull(name, text)).map(([name]) => name),
    body,
    idempotencyKey,
  }
}
