// Made by npm run generate from openapi.yaml and clients/operations.ts.

import type { Call, CallOptions } from './core/call.ts'
import type { Answer, Body, Item, Query } from './core/contract-types.ts'
import type { Pages } from './core/pages.ts'
import { OPERATIONS } from './operations.gen.ts'

const healthOf = (call: Call) => ({
  /**
   * Check that the service answers. `GET /v2/health`
   *
   * No key is needed.
   */
  get: (options?: CallOptions): Promise<Answer<'getHealth'>> =>
    call.one(OPERATIONS.getHealth, [], {}, options),
})
export type Health = ReturnType<typeof healthOf>

const documentationOf = (call: Call) => ({
  /**
   * Get this document. `GET /openapi.yaml`
   *
   * No key is needed.
   */
  openApi: (options?: CallOptions): Promise<Answer<'getOpenApi'>> =>
    call.one(OPERATIONS.getOpenApi, [], {}, options),
  /**
   * Read this document as a web page, and try every operation. `GET /docs`
   *
   * No key is needed.
   */
  page: (options?: CallOptions): Promise<Answer<'getDocs'>> => call.one(OPERATIONS.getDocs, [], {}, options),
})
export type Documentation = ReturnType<typeof documentationOf>

const customersOf = (call: Call) => ({
  /**
   * List customers. `GET /v2/customers`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listCustomers'>, options?: CallOptions): Pages<Item<'listCustomers'>> =>
    call.pages(OPERATIONS.listCustomers, [], { query }, options),
  /**
   * Create a customer. `POST /v2/customers`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createCustomer'>, options?: CallOptions): Promise<Answer<'createCustomer'>> =>
    call.one(OPERATIONS.createCustomer, [], { body }, options),
  /**
   * Get a customer. `GET /v2/customers/{customer_id}`
   *
   * Needs `read:all`.
   */
  get: (customerId: string, options?: CallOptions): Promise<Answer<'getCustomer'>> =>
    call.one(OPERATIONS.getCustomer, [customerId], {}, options),
  /**
   * Change a customer. `PATCH /v2/customers/{customer_id}`
   *
   * Needs `write:all`.
   */
  update: (
    customerId: string,
    body: Body<'updateCustomer'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCustomer'>> =>
    call.one(OPERATIONS.updateCustomer, [customerId], { body }, options),
})
export type Customers = ReturnType<typeof customersOf>

const accountsOf = (call: Call) => ({
  /**
   * List accounts. `GET /v2/accounts`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listAccounts'>, options?: CallOptions): Pages<Item<'listAccounts'>> =>
    call.pages(OPERATIONS.listAccounts, [], { query }, options),
  /**
   * Create an account. `POST /v2/accounts`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createAccount'>, options?: CallOptions): Promise<Answer<'createAccount'>> =>
    call.one(OPERATIONS.createAccount, [], { body }, options),
  /**
   * Get the balances of several accounts. `GET /v2/accounts/balances`
   *
   * Needs `read:all`.
   */
  balances: (query: Query<'listBalances'>, options?: CallOptions): Promise<Answer<'listBalances'>> =>
    call.one(OPERATIONS.listBalances, [], { query }, options),
  /**
   * Get the account that has an external id. `GET /v2/accounts/external-id/{external_id}`
   *
   * Needs `read:all`.
   */
  getByExternalId: (externalId: string, options?: CallOptions): Promise<Answer<'getAccountByExternalId'>> =>
    call.one(OPERATIONS.getAccountByExternalId, [externalId], {}, options),
  /**
   * Get an account. `GET /v2/accounts/{account_id}`
   *
   * Needs `read:all` or `read:account`.
   */
  get: (accountId: string, options?: CallOptions): Promise<Answer<'getAccount'>> =>
    call.one(OPERATIONS.getAccount, [accountId], {}, options),
  /**
   * Change an account. `PATCH /v2/accounts/{account_id}`
   *
   * Needs `write:all`.
   */
  update: (
    accountId: string,
    body: Body<'updateAccount'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAccount'>> => call.one(OPERATIONS.updateAccount, [accountId], { body }, options),
  /**
   * Archive an account. `POST /v2/accounts/{account_id}/archive`
   *
   * Needs `write:all`.
   */
  archive: (accountId: string, options?: CallOptions): Promise<Answer<'archiveAccount'>> =>
    call.one(OPERATIONS.archiveAccount, [accountId], {}, options),
  /**
   * Unarchive an account. `POST /v2/accounts/{account_id}/unarchive`
   *
   * Needs `write:all`.
   */
  unarchive: (accountId: string, options?: CallOptions): Promise<Answer<'unarchiveAccount'>> =>
    call.one(OPERATIONS.unarchiveAccount, [accountId], {}, options),
  /**
   * Get the usage of an account in a time range. `GET /v2/accounts/{account_id}/usage`
   *
   * Needs `read:all` or `read:account`.
   */
  usage: (
    accountId: string,
    query: Query<'getAccountUsage'>,
    options?: CallOptions,
  ): Promise<Answer<'getAccountUsage'>> =>
    call.one(OPERATIONS.getAccountUsage, [accountId], { query }, options),
  /**
   * Get all usage of an account by month. `GET /v2/accounts/{account_id}/usage/monthly`
   *
   * Needs `read:all` or `read:account`.
   */
  usageMonthly: (
    accountId: string,
    query?: Query<'getAccountMonthlyUsage'>,
    options?: CallOptions,
  ): Promise<Answer<'getAccountMonthlyUsage'>> =>
    call.one(OPERATIONS.getAccountMonthlyUsage, [accountId], { query }, options),
  /**
   * Get the usage of an account by day. `GET /v2/accounts/{account_id}/usage/daily`
   *
   * Needs `read:all` or `read:account`.
   */
  usageDaily: (
    accountId: string,
    query: Query<'getAccountDailyUsage'>,
    options?: CallOptions,
  ): Promise<Answer<'getAccountDailyUsage'>> =>
    call.one(OPERATIONS.getAccountDailyUsage, [accountId], { query }, options),
  /**
   * Get the balance of an account in one metric or currency. `GET /v2/accounts/{account_id}/balance`
   *
   * Needs `read:all` or `read:account`.
   */
  balance: (
    accountId: string,
    query?: Query<'getAccountBalance'>,
    options?: CallOptions,
  ): Promise<Answer<'getAccountBalance'>> =>
    call.one(OPERATIONS.getAccountBalance, [accountId], { query }, options),
  /**
   * Get the balance of an account by day. `GET /v2/accounts/{account_id}/balance/daily`
   *
   * Needs `read:all` or `read:account`.
   */
  balanceDaily: (
    accountId: string,
    query: Query<'getAccountDailyBalance'>,
    options?: CallOptions,
  ): Promise<Answer<'getAccountDailyBalance'>> =>
    call.one(OPERATIONS.getAccountDailyBalance, [accountId], { query }, options),
})
export type Accounts = ReturnType<typeof accountsOf>

const metricsOf = (call: Call) => ({
  /**
   * List metrics. `GET /v2/metrics`
   *
   * Needs `read:all` or `read:account`.
   */
  list: (query?: Query<'listMetrics'>, options?: CallOptions): Pages<Item<'listMetrics'>> =>
    call.pages(OPERATIONS.listMetrics, [], { query }, options),
  /**
   * Create a metric. `POST /v2/metrics`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createMetric'>, options?: CallOptions): Promise<Answer<'createMetric'>> =>
    call.one(OPERATIONS.createMetric, [], { body }, options),
  /**
   * Get the metric that has an external id. `GET /v2/metrics/external-id/{external_id}`
   *
   * Needs `read:all`.
   */
  getByExternalId: (externalId: string, options?: CallOptions): Promise<Answer<'getMetricByExternalId'>> =>
    call.one(OPERATIONS.getMetricByExternalId, [externalId], {}, options),
  /**
   * Get a metric. `GET /v2/metrics/{metric_id}`
   *
   * Needs `read:all`.
   */
  get: (metricId: string, options?: CallOptions): Promise<Answer<'getMetric'>> =>
    call.one(OPERATIONS.getMetric, [metricId], {}, options),
  /**
   * Change a metric. `PATCH /v2/metrics/{metric_id}`
   *
   * Needs `write:all`.
   */
  update: (
    metricId: string,
    body: Body<'updateMetric'>,
    options?: CallOptions,
  ): Promise<Answer<'updateMetric'>> => call.one(OPERATIONS.updateMetric, [metricId], { body }, options),
  /**
   * Archive a metric. `POST /v2/metrics/{metric_id}/archive`
   *
   * Needs `write:all`.
   */
  archive: (metricId: string, options?: CallOptions): Promise<Answer<'archiveMetric'>> =>
    call.one(OPERATIONS.archiveMetric, [metricId], {}, options),
  /**
   * Unarchive a metric. `POST /v2/metrics/{metric_id}/unarchive`
   *
   * Needs `write:all`.
   */
  unarchive: (metricId: string, options?: CallOptions): Promise<Answer<'unarchiveMetric'>> =>
    call.one(OPERATIONS.unarchiveMetric, [metricId], {}, options),
  /**
   * Get the usage of all accounts by month. `GET /v2/metrics/usage/monthly`
   *
   * Needs `read:all`.
   */
  usageMonthly: (
    query?: Query<'getMonthlyUsage'>,
    options?: CallOptions,
  ): Promise<Answer<'getMonthlyUsage'>> => call.one(OPERATIONS.getMonthlyUsage, [], { query }, options),
})
export type Metrics = ReturnType<typeof metricsOf>

const grantsOf = (call: Call) => ({
  /**
   * List grants. `GET /v2/grants`
   *
   * Needs `read:all` or `read:account`.
   */
  list: (query?: Query<'listGrants'>, options?: CallOptions): Pages<Item<'listGrants'>> =>
    call.pages(OPERATIONS.listGrants, [], { query }, options),
  /**
   * Grant credit to an account. `POST /v2/grants`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createGrant'>, options?: CallOptions): Promise<Answer<'createGrant'>> =>
    call.one(OPERATIONS.createGrant, [], { body }, options),
  /**
   * Get a grant. `GET /v2/grants/{grant_id}`
   *
   * Needs `read:all`.
   */
  get: (grantId: string, options?: CallOptions): Promise<Answer<'getGrant'>> =>
    call.one(OPERATIONS.getGrant, [grantId], {}, options),
  /**
   * Void a grant. `POST /v2/grants/{grant_id}/void`
   *
   * Needs `write:all`.
   */
  void: (grantId: string, options?: CallOptions): Promise<Answer<'voidGrant'>> =>
    call.one(OPERATIONS.voidGrant, [grantId], {}, options),
  /**
   * Archive a grant. `POST /v2/grants/{grant_id}/archive`
   *
   * Needs `write:all`.
   */
  archive: (grantId: string, options?: CallOptions): Promise<Answer<'archiveGrant'>> =>
    call.one(OPERATIONS.archiveGrant, [grantId], {}, options),
})
export type Grants = ReturnType<typeof grantsOf>

const refillConfigurationsOf = (call: Call) => ({
  /**
   * List refill configurations. `GET /v2/refill-configurations`
   *
   * Needs `read:all`.
   */
  list: (
    query?: Query<'listRefillConfigurations'>,
    options?: CallOptions,
  ): Pages<Item<'listRefillConfigurations'>> =>
    call.pages(OPERATIONS.listRefillConfigurations, [], { query }, options),
  /**
   * Create a refill configuration. `POST /v2/refill-configurations`
   *
   * Needs `write:all`.
   */
  create: (
    body: Body<'createRefillConfiguration'>,
    options?: CallOptions,
  ): Promise<Answer<'createRefillConfiguration'>> =>
    call.one(OPERATIONS.createRefillConfiguration, [], { body }, options),
  /**
   * Get a refill configuration. `GET /v2/refill-configurations/{account_id}/{metric_id}`
   *
   * Needs `read:all`.
   */
  get: (
    accountId: string,
    metricId: string,
    options?: CallOptions,
  ): Promise<Answer<'getRefillConfiguration'>> =>
    call.one(OPERATIONS.getRefillConfiguration, [accountId, metricId], {}, options),
  /**
   * Change a refill configuration. `PATCH /v2/refill-configurations/{account_id}/{metric_id}`
   *
   * Needs `write:all`.
   */
  update: (
    accountId: string,
    metricId: string,
    body: Body<'updateRefillConfiguration'>,
    options?: CallOptions,
  ): Promise<Answer<'updateRefillConfiguration'>> =>
    call.one(OPERATIONS.updateRefillConfiguration, [accountId, metricId], { body }, options),
  /**
   * List the refills of a configuration. `GET /v2/refill-configurations/{account_id}/{metric_id}/refills`
   *
   * Needs `read:all` or `read:account`.
   */
  refills: (
    accountId: string,
    metricId: string,
    query?: Query<'listRefills'>,
    options?: CallOptions,
  ): Pages<Item<'listRefills'>> =>
    call.pages(OPERATIONS.listRefills, [accountId, metricId], { query }, options),
})
export type RefillConfigurations = ReturnType<typeof refillConfigurationsOf>

const eventsOf = (call: Call) => ({
  /**
   * List usage events. `GET /v2/events`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listEvents'>, options?: CallOptions): Pages<Item<'listEvents'>> =>
    call.pages(OPERATIONS.listEvents, [], { query }, options),
  /**
   * Report one usage event. `POST /v2/events`
   *
   * Needs `write:all`.
   */
  report: (body: Body<'reportEvent'>, options?: CallOptions): Promise<Answer<'reportEvent'>> =>
    call.one(OPERATIONS.reportEvent, [], { body }, options),
  /**
   * Get the usage that has a property. `GET /v2/events/aggregate`
   *
   * Needs `read:all`.
   */
  aggregate: (query: Query<'aggregateEvents'>, options?: CallOptions): Promise<Answer<'aggregateEvents'>> =>
    call.one(OPERATIONS.aggregateEvents, [], { query }, options),
  /**
   * Report up to 1,000 usage events. `POST /v2/events/batch`
   *
   * Needs `write:all`.
   */
  reportMany: (body: Body<'reportEvents'>, options?: CallOptions): Promise<Answer<'reportEvents'>> =>
    call.one(OPERATIONS.reportEvents, [], { body }, options),
  /**
   * Correct up to 1,000 usage events. `POST /v2/events/corrections`
   *
   * Needs `write:all`.
   */
  correctMany: (body: Body<'correctEvents'>, options?: CallOptions): Promise<Answer<'correctEvents'>> =>
    call.one(OPERATIONS.correctEvents, [], { body }, options),
  /**
   * Get a usage event. `GET /v2/events/{event_id}`
   *
   * Needs `read:all`.
   */
  get: (eventId: string, options?: CallOptions): Promise<Answer<'getEvent'>> =>
    call.one(OPERATIONS.getEvent, [eventId], {}, options),
  /**
   * Correct a usage event. `PATCH /v2/events/{event_id}`
   *
   * Needs `write:all`.
   */
  correct: (
    eventId: string,
    body: Body<'correctEvent'>,
    options?: CallOptions,
  ): Promise<Answer<'correctEvent'>> => call.one(OPERATIONS.correctEvent, [eventId], { body }, options),
  /**
   * Void a usage event. `POST /v2/events/{event_id}/void`
   *
   * Needs `write:all`.
   */
  void: (eventId: string, options?: CallOptions): Promise<Answer<'voidEvent'>> =>
    call.one(OPERATIONS.voidEvent, [eventId], {}, options),
  /**
   * List the revisions of a usage event. `GET /v2/events/{event_id}/revisions`
   *
   * Needs `read:all`.
   */
  revisions: (
    eventId: string,
    query?: Query<'listEventRevisions'>,
    options?: CallOptions,
  ): Pages<Item<'listEventRevisions'>> =>
    call.pages(OPERATIONS.listEventRevisions, [eventId], { query }, options),
})
export type Events = ReturnType<typeof eventsOf>

const usageOf = (call: Call) => ({
  /**
   * Get usage by period, account or property. `GET /v2/usage`
   *
   * Needs `read:all` or `read:account`.
   */
  get: (query: Query<'getUsage'>, options?: CallOptions): Promise<Answer<'getUsage'>> =>
    call.one(OPERATIONS.getUsage, [], { query }, options),
})
export type Usage = ReturnType<typeof usageOf>

const currenciesOf = (call: Call) => ({
  /**
   * List the currencies in use. `GET /v2/currencies`
   *
   * Needs `read:all` or `read:account`.
   */
  list: (query?: Query<'listCurrencies'>, options?: CallOptions): Pages<Item<'listCurrencies'>> =>
    call.pages(OPERATIONS.listCurrencies, [], { query }, options),
})
export type Currencies = ReturnType<typeof currenciesOf>

const productsOf = (call: Call) => ({
  /**
   * List products. `GET /v2/products`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listProducts'>, options?: CallOptions): Pages<Item<'listProducts'>> =>
    call.pages(OPERATIONS.listProducts, [], { query }, options),
  /**
   * Create a product. `POST /v2/products`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createProduct'>, options?: CallOptions): Promise<Answer<'createProduct'>> =>
    call.one(OPERATIONS.createProduct, [], { body }, options),
  /**
   * Get a product. `GET /v2/products/{product_id}`
   *
   * Needs `read:all`.
   */
  get: (productId: string, options?: CallOptions): Promise<Answer<'getProduct'>> =>
    call.one(OPERATIONS.getProduct, [productId], {}, options),
  /**
   * Change a product. `PATCH /v2/products/{product_id}`
   *
   * Needs `write:all`.
   */
  update: (
    productId: string,
    body: Body<'updateProduct'>,
    options?: CallOptions,
  ): Promise<Answer<'updateProduct'>> => call.one(OPERATIONS.updateProduct, [productId], { body }, options),
  /**
   * Archive a product. `POST /v2/products/{product_id}/archive`
   *
   * Needs `write:all`.
   */
  archive: (productId: string, options?: CallOptions): Promise<Answer<'archiveProduct'>> =>
    call.one(OPERATIONS.archiveProduct, [productId], {}, options),
  /**
   * Unarchive a product. `POST /v2/products/{product_id}/unarchive`
   *
   * Needs `write:all`.
   */
  unarchive: (productId: string, options?: CallOptions): Promise<Answer<'unarchiveProduct'>> =>
    call.one(OPERATIONS.unarchiveProduct, [productId], {}, options),
})
export type Products = ReturnType<typeof productsOf>

const pricesOf = (call: Call) => ({
  /**
   * List prices. `GET /v2/prices`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listPrices'>, options?: CallOptions): Pages<Item<'listPrices'>> =>
    call.pages(OPERATIONS.listPrices, [], { query }, options),
  /**
   * Create a price. `POST /v2/prices`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createPrice'>, options?: CallOptions): Promise<Answer<'createPrice'>> =>
    call.one(OPERATIONS.createPrice, [], { body }, options),
  /**
   * Get a price. `GET /v2/prices/{price_id}`
   *
   * Needs `read:all`.
   */
  get: (priceId: string, options?: CallOptions): Promise<Answer<'getPrice'>> =>
    call.one(OPERATIONS.getPrice, [priceId], {}, options),
  /**
   * Change a price. `PATCH /v2/prices/{price_id}`
   *
   * Needs `write:all`.
   */
  update: (
    priceId: string,
    body: Body<'updatePrice'>,
    options?: CallOptions,
  ): Promise<Answer<'updatePrice'>> => call.one(OPERATIONS.updatePrice, [priceId], { body }, options),
  /**
   * Archive a price. `POST /v2/prices/{price_id}/archive`
   *
   * Needs `write:all`.
   */
  archive: (priceId: string, options?: CallOptions): Promise<Answer<'archivePrice'>> =>
    call.one(OPERATIONS.archivePrice, [priceId], {}, options),
  /**
   * Unarchive a price. `POST /v2/prices/{price_id}/unarchive`
   *
   * Needs `write:all`.
   */
  unarchive: (priceId: string, options?: CallOptions): Promise<Answer<'unarchivePrice'>> =>
    call.one(OPERATIONS.unarchivePrice, [priceId], {}, options),
})
export type Prices = ReturnType<typeof pricesOf>

const rateCardsOf = (call: Call) => ({
  /**
   * List rate cards. `GET /v2/rate-cards`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listRateCards'>, options?: CallOptions): Pages<Item<'listRateCards'>> =>
    call.pages(OPERATIONS.listRateCards, [], { query }, options),
  /**
   * Create a rate card. `POST /v2/rate-cards`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createRateCard'>, options?: CallOptions): Promise<Answer<'createRateCard'>> =>
    call.one(OPERATIONS.createRateCard, [], { body }, options),
  /**
   * Get a rate card. `GET /v2/rate-cards/{rate_card_id}`
   *
   * Needs `read:all`.
   */
  get: (rateCardId: string, options?: CallOptions): Promise<Answer<'getRateCard'>> =>
    call.one(OPERATIONS.getRateCard, [rateCardId], {}, options),
  /**
   * Change a rate card. `PATCH /v2/rate-cards/{rate_card_id}`
   *
   * Needs `write:all`.
   */
  update: (
    rateCardId: string,
    body: Body<'updateRateCard'>,
    options?: CallOptions,
  ): Promise<Answer<'updateRateCard'>> =>
    call.one(OPERATIONS.updateRateCard, [rateCardId], { body }, options),
  /**
   * Archive a rate card. `POST /v2/rate-cards/{rate_card_id}/archive`
   *
   * Needs `write:all`.
   */
  archive: (rateCardId: string, options?: CallOptions): Promise<Answer<'archiveRateCard'>> =>
    call.one(OPERATIONS.archiveRateCard, [rateCardId], {}, options),
  /**
   * Unarchive a rate card. `POST /v2/rate-cards/{rate_card_id}/unarchive`
   *
   * Needs `write:all`.
   */
  unarchive: (rateCardId: string, options?: CallOptions): Promise<Answer<'unarchiveRateCard'>> =>
    call.one(OPERATIONS.unarchiveRateCard, [rateCardId], {}, options),
  /**
   * List the rates of a rate card. `GET /v2/rate-cards/{rate_card_id}/rates`
   *
   * Needs `read:all`.
   */
  rates: (rateCardId: string, query?: Query<'listRates'>, options?: CallOptions): Pages<Item<'listRates'>> =>
    call.pages(OPERATIONS.listRates, [rateCardId], { query }, options),
  /**
   * End and add rates of a rate card. `POST /v2/rate-cards/{rate_card_id}/changes`
   *
   * Needs `write:all`.
   */
  change: (
    rateCardId: string,
    body: Body<'changeRateCard'>,
    options?: CallOptions,
  ): Promise<Answer<'changeRateCard'>> =>
    call.one(OPERATIONS.changeRateCard, [rateCardId], { body }, options),
  /**
   * Simulate what accounts would pay by a rate card. `POST /v2/rate-cards/{rate_card_id}/simulate`
   *
   * Needs `read:all`.
   */
  simulate: (
    rateCardId: string,
    body: Body<'simulateRateCard'>,
    options?: CallOptions,
  ): Promise<Answer<'simulateRateCard'>> =>
    call.one(OPERATIONS.simulateRateCard, [rateCardId], { body }, options),
})
export type RateCards = ReturnType<typeof rateCardsOf>

const contractsOf = (call: Call) => ({
  /**
   * List contracts. `GET /v2/contracts`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listContracts'>, options?: CallOptions): Pages<Item<'listContracts'>> =>
    call.pages(OPERATIONS.listContracts, [], { query }, options),
  /**
   * Create a contract. `POST /v2/contracts`
   *
   * Needs `write:all`.
   */
  create: (body: Body<'createContract'>, options?: CallOptions): Promise<Answer<'createContract'>> =>
    call.one(OPERATIONS.createContract, [], { body }, options),
  /**
   * Get a contract. `GET /v2/contracts/{contract_id}`
   *
   * Needs `read:all`.
   */
  get: (contractId: string, options?: CallOptions): Promise<Answer<'getContract'>> =>
    call.one(OPERATIONS.getContract, [contractId], {}, options),
  /**
   * Change a contract, or let it end later. `PATCH /v2/contracts/{contract_id}`
   *
   * Needs `write:all`.
   */
  update: (
    contractId: string,
    body: Body<'updateContract'>,
    options?: CallOptions,
  ): Promise<Answer<'updateContract'>> =>
    call.one(OPERATIONS.updateContract, [contractId], { body }, options),
  /**
   * List the lines of a contract. `GET /v2/contracts/{contract_id}/lines`
   *
   * Needs `read:all`.
   */
  lines: (
    contractId: string,
    query?: Query<'listContractLines'>,
    options?: CallOptions,
  ): Pages<Item<'listContractLines'>> =>
    call.pages(OPERATIONS.listContractLines, [contractId], { query }, options),
  /**
   * End lines of a contract, and add others. `POST /v2/contracts/{contract_id}/changes`
   *
   * Needs `write:all`.
   */
  change: (
    contractId: string,
    body: Body<'changeContract'>,
    options?: CallOptions,
  ): Promise<Answer<'changeContract'>> =>
    call.one(OPERATIONS.changeContract, [contractId], { body }, options),
  /**
   * Cancel a contract. `POST /v2/contracts/{contract_id}/cancel`
   *
   * Needs `write:all`.
   */
  cancel: (
    contractId: string,
    body: Body<'cancelContract'>,
    options?: CallOptions,
  ): Promise<Answer<'cancelContract'>> =>
    call.one(OPERATIONS.cancelContract, [contractId], { body }, options),
  /**
   * Undo the cancellation of a contract. `POST /v2/contracts/{contract_id}/uncancel`
   *
   * Needs `write:all`.
   */
  uncancel: (contractId: string, options?: CallOptions): Promise<Answer<'uncancelContract'>> =>
    call.one(OPERATIONS.uncancelContract, [contractId], {}, options),
})
export type Contracts = ReturnType<typeof contractsOf>

const invoicePreviewsOf = (call: Call) => ({
  /**
   * Preview the invoice of a period of a contract. `POST /v2/invoice-previews`
   *
   * Needs `read:all`.
   */
  preview: (body: Body<'previewInvoice'>, options?: CallOptions): Promise<Answer<'previewInvoice'>> =>
    call.one(OPERATIONS.previewInvoice, [], { body }, options),
  /**
   * Preview the invoices of a period of all contracts. `GET /v2/invoice-previews`
   *
   * Needs `read:all`.
   */
  list: (query?: Query<'listInvoicePreviews'>, options?: CallOptions): Pages<Item<'listInvoicePreviews'>> =>
    call.pages(OPERATIONS.listInvoicePreviews, [], { query }, options),
})
export type InvoicePreviews = ReturnType<typeof invoicePreviewsOf>

const callerOf = (call: Call) => ({
  /**
   * Get the company of this key, and its permissions. `GET /v2/caller`
   *
   * Needs `read:all` or `write:all` or `manage:keys` or `read:account`.
   */
  get: (options?: CallOptions): Promise<Answer<'getCaller'>> =>
    call.one(OPERATIONS.getCaller, [], {}, options),
})
export type Caller = ReturnType<typeof callerOf>

const apiKeysOf = (call: Call) => ({
  /**
   * List API keys. `GET /v2/api-keys`
   *
   * Needs `manage:keys`.
   */
  list: (query?: Query<'listApiKeys'>, options?: CallOptions): Pages<Item<'listApiKeys'>> =>
    call.pages(OPERATIONS.listApiKeys, [], { query }, options),
  /**
   * Issue an API key. `POST /v2/api-keys`
   *
   * Needs `manage:keys`.
   */
  create: (body: Body<'createApiKey'>, options?: CallOptions): Promise<Answer<'createApiKey'>> =>
    call.one(OPERATIONS.createApiKey, [], { body }, options),
  /**
   * Get an API key. `GET /v2/api-keys/{api_key_id}`
   *
   * Needs `manage:keys`.
   */
  get: (apiKeyId: string, options?: CallOptions): Promise<Answer<'getApiKey'>> =>
    call.one(OPERATIONS.getApiKey, [apiKeyId], {}, options),
  /**
   * Rotate an API key. `POST /v2/api-keys/{api_key_id}/rotate`
   *
   * Needs `manage:keys`.
   */
  rotate: (
    apiKeyId: string,
    body: Body<'rotateApiKey'>,
    options?: CallOptions,
  ): Promise<Answer<'rotateApiKey'>> => call.one(OPERATIONS.rotateApiKey, [apiKeyId], { body }, options),
  /**
   * Revoke an API key. `POST /v2/api-keys/{api_key_id}/revoke`
   *
   * Needs `manage:keys`.
   */
  revoke: (apiKeyId: string, options?: CallOptions): Promise<Answer<'revokeApiKey'>> =>
    call.one(OPERATIONS.revokeApiKey, [apiKeyId], {}, options),
})
export type ApiKeys = ReturnType<typeof apiKeysOf>

const auditTrailOf = (call: Call) => ({
  /**
   * List changes, and who made them. `GET /v2/audit-trail`
   *
   * Needs `manage:keys`.
   */
  list: (query?: Query<'listAuditTrail'>, options?: CallOptions): Pages<Item<'listAuditTrail'>> =>
    call.pages(OPERATIONS.listAuditTrail, [], { query }, options),
})
export type AuditTrail = ReturnType<typeof auditTrailOf>

const testClockOf = (call: Call) => ({
  /**
   * Get the company's time. `GET /v2/test/clock`
   *
   * Needs `read:all`.
   */
  get: (options?: CallOptions): Promise<Answer<'getTestClock'>> =>
    call.one(OPERATIONS.getTestClock, [], {}, options),
  /**
   * Set the company's clock forward. `PUT /v2/test/clock`
   *
   * Needs `write:all`.
   */
  set: (body: Body<'setTestClock'>, options?: CallOptions): Promise<Answer<'setTestClock'>> =>
    call.one(OPERATIONS.setTestClock, [], { body }, options),
  /**
   * Return the company's clock to real time. `DELETE /v2/test/clock`
   *
   * Needs `write:all`.
   */
  reset: (options?: CallOptions): Promise<Answer<'resetTestClock'>> =>
    call.one(OPERATIONS.resetTestClock, [], {}, options),
  /**
   * Move the company's clock ahead. `POST /v2/test/clock/advance`
   *
   * Needs `write:all`.
   */
  advance: (body: Body<'advanceTestClock'>, options?: CallOptions): Promise<Answer<'advanceTestClock'>> =>
    call.one(OPERATIONS.advanceTestClock, [], { body }, options),
})
export type TestClock = ReturnType<typeof testClockOf>

const testAreaOf = (call: Call) => ({
  /**
   * Reset the company to an empty one. `POST /v2/test/reset`
   *
   * Needs `write:all`.
   */
  reset: (options?: CallOptions): Promise<Answer<'resetTestCompany'>> =>
    call.one(OPERATIONS.resetTestCompany, [], {}, options),
  /**
   * Make seed data. `POST /v2/test/seed`
   *
   * Needs `write:all`.
   */
  seed: (body?: Body<'seedTestCompany'>, options?: CallOptions): Promise<Answer<'seedTestCompany'>> =>
    call.one(OPERATIONS.seedTestCompany, [], { body }, options),
  /**
   * Wait until everything is counted. `POST /v2/test/drain`
   *
   * Needs `write:all`.
   */
  drain: (body?: Body<'drainTestCompany'>, options?: CallOptions): Promise<Answer<'drainTestCompany'>> =>
    call.one(OPERATIONS.drainTestCompany, [], { body }, options),
})
export type TestArea = ReturnType<typeof testAreaOf>

/** The methods of a client, by resource. */
export abstract class Resources {
  readonly health: Health
  readonly documentation: Documentation
  readonly customers: Customers
  readonly accounts: Accounts
  readonly metrics: Metrics
  readonly grants: Grants
  readonly refillConfigurations: RefillConfigurations
  readonly events: Events
  readonly usage: Usage
  readonly currencies: Currencies
  readonly products: Products
  readonly prices: Prices
  readonly rateCards: RateCards
  readonly contracts: Contracts
  readonly invoicePreviews: InvoicePreviews
  readonly caller: Caller
  readonly apiKeys: ApiKeys
  readonly auditTrail: AuditTrail
  readonly testClock: TestClock
  readonly testArea: TestArea

  protected constructor(call: Call) {
    this.health = healthOf(call)
    this.documentation = documentationOf(call)
    this.customers = customersOf(call)
    this.accounts = accountsOf(call)
    this.metrics = metricsOf(call)
    this.grants = grantsOf(call)
    this.refillConfigurations = refillConfigurationsOf(call)
    this.events = eventsOf(call)
    this.usage = usageOf(call)
    this.currencies = currenciesOf(call)
    this.products = productsOf(call)
    this.prices = pricesOf(call)
    this.rateCards = rateCardsOf(call)
    this.contracts = contractsOf(call)
    this.invoicePreviews = invoicePreviewsOf(call)
    this.caller = callerOf(call)
    this.apiKeys = apiKeysOf(call)
    this.auditTrail = auditTrailOf(call)
    this.testClock = testClockOf(call)
    this.testArea = testAreaOf(call)
  }
}
