import { digestOfSecret, newSecret } from './random-secret.ts'

/** Someone who queries the usage of one company in SQL. */
export interface Analyst {
  id: string
  /** Unique among the analysts of all companies who are not revoked. */
  name: string
  company: { id: string; name: string }
  createdAt: Date
  revokedAt: Date | null
}

/** The analyst who sees all companies, and the user of the engine. */
const TAKEN = ['analyst', 'default']
const NAME = /^[A-Za-z][A-Za-z0-9_.@-]{0,63}$/
const PREFIX = 'tally_analyst_'

/** What a name of an analyst must be like, as a clause. */
export const ANALYST_NAME_FORM =
  '1 to 64 letters, digits, dots, dashes, underscores and @, beginning with a letter'

/** Whether an analyst may have this name. Such a name needs no escaping in a header, in a label or in quoted SQL. */
export const isAnalystName = (name: string): boolean => NAME.test(name) && !TAKEN.includes(name.toLowerCase())

/** A new password, which is a Bearer token, too. */
export const newAnalystPassword = (): string => newSecret(PREFIX)

/** What is stored instead of the password. */
export const digestOfPassword = digestOfSecret
