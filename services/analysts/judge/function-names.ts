import { ALLOWED_AGGREGATES, ALLOWED_FUNCTIONS, PARSER_FUNCTIONS } from './allowed-functions.ts'

/** A row of system.functions. */
export interface FunctionRow {
  name: string
  alias_to: string
  case_insensitive: number
  is_aggregate: number
}

export const LIST_FUNCTIONS = 'SELECT name, alias_to, case_insensitive, is_aggregate FROM system.functions'

/**
 * The allowed combinators, which may follow the name of an aggregate function. Combinators that show or take inner
 * states are left out.
 */
const COMBINATORS = ['If', 'Array', 'Distinct', 'OrNull', 'OrDefault', 'ArgMin', 'ArgMax', 'ForEach', 'Map']

/** The functions of the engine, under all names that the engine knows, and which of them analysts may use. */
export class FunctionNames {
  private readonly functions = new NameTable()
  private readonly aggregates = new NameTable()
  private readonly all = new Set<string>()

  constructor(rows: readonly FunctionRow[]) {
    for (const name of PARSER_FUNCTIONS) this.functions.add(name, name, false)
    for (const { name, alias_to, case_insensitive, is_aggregate } of rows) {
      this.all.add(name.toLowerCase())
      const canonical = alias_to === '' ? name : alias_to
      const [allowed, table] =
        is_aggregate === 1 ? [ALLOWED_AGGREGATES, this.aggregates] : [ALLOWED_FUNCTIONS, this.functions]
      if (allowed.has(canonical)) table.add(name, canonical, case_insensitive === 1)
    }
  }

  /** The canonical name of the allowed function that this name calls; undefined when it calls no allowed function. */
  findAllowed(name: string): string | undefined {
    return this.functions.find(name) ?? this.findAggregate(name)
  }

  /** Whether a function that is not allowed has this name. Case is ignored, so that no spelling is missed. */
  isForbidden(name: string): boolean {
    return this.all.has(name.toLowerCase()) && this.findAllowed(name) === undefined
  }

  private findAggregate(name: string): string | undefined {
    const whole = this.aggregates.find(name)
    if (whole !== undefined) return whole
    const combinator = COMBINATORS.find((ending) => name.endsWith(ending))
    return combinator === undefined ? undefined : this.findAggregate(name.slice(0, -combinator.length))
  }
}

/** A table of names. Some names are found in any spelling of upper and lower case. */
class NameTable {
  private readonly exact = new Map<string, string>()
  private readonly anyCase = new Map<string, string>()

  add(name: string, canonical: string, caseInsensitive: boolean): void {
    this.exact.set(name, canonical)
    if (caseInsensitive) this.anyCase.set(name.toLowerCase(), canonical)
  }

  find(name: string): string | undefined {
    return this.exact.get(name) ?? this.anyCase.get(name.toLowerCase())
  }
}
