/** One effective setting, for `npm run config` and the table of docs/reference/settings.md. */
export interface Setting {
  name: string
  /** The effect and the unit of the setting, as a clause that starts with a lower-case letter. */
  about: string
  /** The effective value as text; "(hidden)" for a secret that is set. */
  value: string
  /** The default as text; undefined when the setting is required or has none. */
  defaultText: string | undefined
}

interface TextOptions {
  about: string
  default?: string
  secret?: boolean
}

interface TuningOptions {
  default: number
  min: number
  max: number
}

interface IntegerOptions extends TuningOptions {
  about: string
}

/** Thrown once, after every setting was read. It names all settings that are missing or not valid. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`the settings are not valid:\n${problems.map((line) => `  - ${line}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/** Reads settings from the environment and remembers them. It collects all problems; done() throws them together. */
export class EnvReader {
  readonly settings: Setting[] = []
  private readonly env: NodeJS.ProcessEnv
  private readonly problems: string[] = []
  private readonly missing: string[] = []

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env
  }

  string(name: string, options: TextOptions & { default: string }): string {
    return this.read(name, options) ?? options.default
  }

  optional(name: string, options: TextOptions): string | undefined {
    return this.read(name, options)
  }

  integer(name: string, options: IntegerOptions): number {
    return this.toInteger(name, this.read(name, { ...options, default: String(options.default) }), options)
  }

  /**
   * A number that users need not set. The comment at the call gives the reason for its value. It is in no list of
   * settings. Tests and benches can set another value by its name.
   */
  tuning(name: string, options: TuningOptions): number {
    return this.toInteger(name, this.textOf(name), options)
  }

  oneOf<T extends string>(name: string, values: readonly T[], options: { about: string; default: T }): T {
    const text = this.read(name, options) ?? options.default
    const value = values.find((candidate) => candidate === text)
    if (value !== undefined) return value
    this.problems.push(`${name} must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`)
    return options.default
  }

  /**
   * A URL with one of the given schemes, for example `postgres:`. Lists of settings hide it, as it may have a password.
   */
  url(name: string, schemes: readonly string[], options: { about: string }): string | undefined {
    const text = this.read(name, { ...options, secret: true })
    if (text === undefined) return undefined
    if (URL.canParse(text) && schemes.includes(new URL(text).protocol)) return text
    this.problems.push(`${name} must be a URL that starts with ${schemes.map((s) => `${s}//`).join(' or ')}`)
    return undefined
  }

  /** A required URL. If it is missing, the result is empty, and done() reports the problem. */
  requiredUrl(name: string, schemes: readonly string[], options: { about: string }): string {
    if ((this.env[name] ?? '') === '') this.missing.push(name)
    return this.url(name, schemes, options) ?? ''
  }

  /** Adds a problem that the reader cannot find itself, for example one between several settings. */
  refuse(problem: string): void {
    this.problems.push(problem)
  }

  /**
   * @param advice an alternative to setting the required settings that are missing
   * @throws ConfigError that names every problem found so far
   */
  done(advice = ''): void {
    const { missing } = this
    const absent =
      missing.length === 0
        ? []
        : [`${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing${advice}`]
    const problems = [...absent, ...this.problems]
    if (problems.length > 0) throw new ConfigError(problems)
  }

  private toInteger(name: string, text: string | undefined, options: TuningOptions): number {
    const { default: fallback, min, max } = options
    if (text === undefined) return fallback
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    this.problems.push(`${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
    return fallback
  }

  private textOf(name: string): string | undefined {
    const raw = this.env[name]
    return raw === undefined || raw === '' ? undefined : raw
  }

  private read(name: string, options: TextOptions): string | undefined {
    const text = this.textOf(name)
    const shown = text ?? options.default ?? ''
    const value = text !== undefined && options.secret === true ? '(hidden)' : shown
    this.settings.push({ name, about: options.about, value, defaultText: options.default })
    return text
  }
}
