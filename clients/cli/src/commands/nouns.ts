import { type Command, Option } from 'commander'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import type { CliOperation, Field } from '../operation.ts'
import { OPERATIONS } from '../operations.gen.ts'
import { optionName } from '../request.ts'
import { runOperation } from '../run-operation.ts'
import { withClient } from './command-tools.ts'

/** The name of a resource or method as a word of a command: `refill-configurations`. */
export const wordOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Adds a command for each operation: `tally accounts list`. */
export function addNouns(program: Command, context: CliContext): void {
  program.commandsGroup('The API:')
  for (const resource of new Set(OPERATIONS.map((operation) => operation.resource))) {
    const operations = OPERATIONS.filter((operation) => operation.resource === resource)
    const word = wordOf(resource)
    const noun = program.commands.find((command) => command.name() === word) ?? program.command(word)
    if (noun.description() === '')
      noun.description(operations.map((operation) => wordOf(operation.method)).join(', '))
    for (const operation of operations) addOperation(noun, operation, context)
  }
}

function addOperation(noun: Command, operation: CliOperation, context: CliContext): void {
  const command = noun
    .command(wordOf(operation.method))
    .summary(operation.summary)
    .description(`${operation.summary}. It calls ${operation.id}: ${operation.route}`)
  for (const name of operation.path) command.argument(`<${name}>`)
  for (const field of operation.fields) command.addOption(optionOf(field))
  addSpecialOptions(command, operation)
  command.action(async () => {
    const given = command.opts<Record<string, string>>()
    const fields = operation.fields.flatMap(({ name }) => {
      const text = given[attributeOf(name)]
      return text === undefined ? [] : [[name, text] as const]
    })
    const { body, unset = [], idempotencyKey, allPages } = command.opts<SpecialOptions>()
    const typed = {
      path: command.args,
      fields: new Map(fields),
      unset,
      body,
      idempotencyKey: takesKey(operation) ? idempotencyKey : undefined,
    }
    await withClient(context, command.optsWithGlobals<GlobalOptions>(), (client, tools) =>
      runOperation(client, operation, typed, allPages === true, tools),
    )
  })
}

interface SpecialOptions {
  body?: string
  unset?: string[]
  idempotencyKey?: string
  allPages?: true
}

/** An event has a field for its key. Then that of the request is not an option. */
const takesKey = ({ isKeyed, fields }: CliOperation): boolean =>
  isKeyed && !fields.some(({ name }) => name === 'idempotency_key')

function addSpecialOptions(command: Command, operation: CliOperation): void {
  const nullable = operation.fields.filter((field) => field.takesNull).map(({ name }) => name)
  if (operation.body !== 'none')
    command.option('--body <file>', 'The whole body as JSON, instead of its fields; - is standard input.')
  if (nullable.length > 0)
    command.option(
      '--unset <field>',
      `Sets a field to null: ${nullable.join(', ')}. May be repeated.`,
      (field: string, before: string[] | undefined) => [...(before ?? []), field],
    )
  if (takesKey(operation))
    command.option('--idempotency-key <text>', 'The request is done once with this key.')
  if (operation.isList) command.option('--all-pages', 'Gets every page, not only the first.')
}

function optionOf({ name, kind, choices, about, isRequired }: Field): Option {
  const option = new Option(
    `--${optionName(name)} <${kind}>`,
    `${about}${isRequired ? ' (required)' : ''}`.trim(),
  )
  // A choice of a list is checked with its parts.
  return choices === undefined || kind === 'list' ? option : option.choices([...choices])
}

const attributeOf = (field: string): string =>
  field.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
