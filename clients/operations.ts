import type { operations } from '../contract/operations.d.ts'

/** The id of an operation of openapi.yaml. */
export type OperationId = keyof operations

/** The operations that answer as another one does, at another path. They are `x-internal` in openapi.yaml. */
type Alias = 'getHealthWithSlash' | 'getRoot' | 'getRootWithSlash'

/**
 * What names the last item of a page, as `starting_after` of the next one: a field of the item, or for `refill_key` its
 * `account_id` and `metric_id` with a slash in between.
 */
export type Cursor = 'id' | 'refill_key' | 'grant_id' | 'contract_id' | 'currency' | 'revision'

export interface OperationRules {
  /**
   * Whether a request may be sent again when it is not known if it was done.
   *
   * - `safe`: a repeat has the same result.
   * - `keyed`: a repeat with the same Idempotency-Key is done once.
   * - `never`: a repeat may do harm. It is sent again only after an answer that says that nothing was written.
   */
  retry: 'safe' | 'keyed' | 'never'
  /** The cursor of a list that has pages. */
  page?: Cursor
  /**
   * For `keyed`: the operation that gets what the request made or changed. A client calls it when the answer was lost
   * and the repeat is refused. Absent where the lost answer had a secret that nothing shows again.
   */
  made?: OperationId
}

/** The name of an operation in the clients, `resource.method`, and its rules. */
export type OperationRow = readonly [resource: string, method: string, rules: OperationRules]

const SAFE: OperationRules = { retry: 'safe' }
const BY_ID: OperationRules = { retry: 'safe', page: 'id' }
const keyed = (made: OperationId): OperationRules => ({ retry: 'keyed', made })

/**
 * The names and rules of all operations in the clients for TypeScript and Python. `npm run generate` makes their methods
 * of it.
 */
export const OPERATIONS: Readonly<Record<Exclude<OperationId, Alias>, OperationRow>> = {
  getHealth: ['health', 'get', SAFE],
  getOpenApi: ['documentation', 'openApi', SAFE],
  getDocs: ['documentation', 'page', SAFE],

  listCustomers: ['customers', 'list', BY_ID],
  createCustomer: ['customers', 'create', keyed('getCustomer')],
  getCustomer: ['customers', 'get', SAFE],
  updateCustomer: ['customers', 'update', SAFE],

  listAccounts: ['accounts', 'list', BY_ID],
  createAccount: ['accounts', 'create', keyed('getAccount')],
  getAccount: ['accounts', 'get', SAFE],
  getAccountByExternalId: ['accounts', 'getByExternalId', SAFE],
  updateAccount: ['accounts', 'update', SAFE],
  archiveAccount: ['accounts', 'archive', SAFE],
  unarchiveAccount: ['accounts', 'unarchive', SAFE],
  getAccountBalance: ['accounts', 'balance', SAFE],
  listBalances: ['accounts', 'balances', SAFE],
  getAccountDailyBalance: ['accounts', 'balanceDaily', SAFE],
  getAccountUsage: ['accounts', 'usage', SAFE],
  getAccountMonthlyUsage: ['accounts', 'usageMonthly', SAFE],
  getAccountDailyUsage: ['accounts', 'usageDaily', SAFE],

  listMetrics: ['metrics', 'list', BY_ID],
  createMetric: ['metrics', 'create', keyed('getMetric')],
  getMetric: ['metrics', 'get', SAFE],
  getMetricByExternalId: ['metrics', 'getByExternalId', SAFE],
  updateMetric: ['metrics', 'update', SAFE],
  archiveMetric: ['metrics', 'archive', SAFE],
  unarchiveMetric: ['metrics', 'unarchive', SAFE],
  getMonthlyUsage: ['metrics', 'usageMonthly', SAFE],

  listGrants: ['grants', 'list', BY_ID],
  createGrant: ['grants', 'create', keyed('getGrant')],
  getGrant: ['grants', 'get', SAFE],
  voidGrant: ['grants', 'void', SAFE],
  archiveGrant: ['grants', 'archive', SAFE],

  listRefillConfigurations: ['refillConfigurations', 'list', { retry: 'safe', page: 'refill_key' }],
  createRefillConfiguration: ['refillConfigurations', 'create', keyed('getRefillConfiguration')],
  getRefillConfiguration: ['refillConfigurations', 'get', SAFE],
  updateRefillConfiguration: ['refillConfigurations', 'update', SAFE],
  listRefills: ['refillConfigurations', 'refills', { retry: 'safe', page: 'grant_id' }],

  // Why reports are safe: each event has a key of its own, which the clients make where it is missing.
  reportEvent: ['events', 'report', SAFE],
  reportEvents: ['events', 'reportMany', SAFE],
  listEvents: ['events', 'list', BY_ID],
  getEvent: ['events', 'get', SAFE],
  aggregateEvents: ['events', 'aggregate', SAFE],
  correctEvent: ['events', 'correct', SAFE],
  correctEvents: ['events', 'correctMany', SAFE],
  voidEvent: ['events', 'void', SAFE],
  listEventRevisions: ['events', 'revisions', { retry: 'safe', page: 'revision' }],

  getUsage: ['usage', 'get', SAFE],
  listCurrencies: ['currencies', 'list', { retry: 'safe', page: 'currency' }],

  listProducts: ['products', 'list', BY_ID],
  createProduct: ['products', 'create', keyed('getProduct')],
  getProduct: ['products', 'get', SAFE],
  updateProduct: ['products', 'update', SAFE],
  archiveProduct: ['products', 'archive', SAFE],
  unarchiveProduct: ['products', 'unarchive', SAFE],

  listPrices: ['prices', 'list', BY_ID],
  createPrice: ['prices', 'create', keyed('getPrice')],
  getPrice: ['prices', 'get', SAFE],
  updatePrice: ['prices', 'update', SAFE],
  archivePrice: ['prices', 'archive', SAFE],
  unarchivePrice: ['prices', 'unarchive', SAFE],

  listRateCards: ['rateCards', 'list', BY_ID],
  createRateCard: ['rateCards', 'create', keyed('getRateCard')],
  getRateCard: ['rateCards', 'get', SAFE],
  updateRateCard: ['rateCards', 'update', SAFE],
  archiveRateCard: ['rateCards', 'archive', SAFE],
  unarchiveRateCard: ['rateCards', 'unarchive', SAFE],
  listRates: ['rateCards', 'rates', BY_ID],
  changeRateCard: ['rateCards', 'change', keyed('getRateCard')],
  simulateRateCard: ['rateCards', 'simulate', SAFE],

  listContracts: ['contracts', 'list', BY_ID],
  createContract: ['contracts', 'create', keyed('getContract')],
  getContract: ['contracts', 'get', SAFE],
  updateContract: ['contracts', 'update', SAFE],
  listContractLines: ['contracts', 'lines', BY_ID],
  changeContract: ['contracts', 'change', keyed('getContract')],
  cancelContract: ['contracts', 'cancel', keyed('getContract')],
  uncancelContract: ['contracts', 'uncancel', keyed('getContract')],

  previewInvoice: ['invoicePreviews', 'preview', SAFE],
  listInvoicePreviews: ['invoicePreviews', 'list', { retry: 'safe', page: 'contract_id' }],

  getCaller: ['caller', 'get', SAFE],
  listApiKeys: ['apiKeys', 'list', BY_ID],
  createApiKey: ['apiKeys', 'create', { retry: 'keyed' }],
  getApiKey: ['apiKeys', 'get', SAFE],
  rotateApiKey: ['apiKeys', 'rotate', { retry: 'keyed' }],
  revokeApiKey: ['apiKeys', 'revoke', SAFE],
  listAuditTrail: ['auditTrail', 'list', BY_ID],

  getTestClock: ['testClock', 'get', SAFE],
  setTestClock: ['testClock', 'set', SAFE],
  resetTestClock: ['testClock', 'reset', SAFE],
  advanceTestClock: ['testClock', 'advance', keyed('getTestClock')],
  // Each request starts another reset. A repeat could delete what was written after the first one.
  resetTestCompany: ['testArea', 'reset', { retry: 'never' }],
  seedTestCompany: ['testArea', 'seed', SAFE],
  drainTestCompany: ['testArea', 'drain', SAFE],
}
