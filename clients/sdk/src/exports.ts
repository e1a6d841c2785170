// What both entries of the package export.
export {
  ApiError,
  BadRequestError,
  ConflictError,
  ForbiddenError,
  InvalidKeyError,
  NotFoundError,
  type RateLimit,
  RateLimitedError,
  RequestTimeoutError,
  ServerError,
  TooLargeError,
  UnavailableError,
  UnprocessableError,
  UnsupportedMediaError,
} from './core/api-errors.ts'
export type {
  AddedUsage,
  BalanceCheck,
  BalanceCheckOptions,
  BalanceChecks,
  BalanceQuestion,
  UsageSource,
  UsageWatcher,
} from './core/balance-checks/balance-checks.ts'
export type { CallOptions } from './core/call.ts'
export type { TallyOptions } from './core/client.ts'
export type { AmountInput, Answer, Body, Item, OperationId, Query, Schemas } from './core/contract-types.ts'
export { decimals } from './core/decimals.ts'
export {
  AbortedError,
  ConnectionError,
  NotTallyError,
  OutcomeUnknownError,
  TallyError,
  TimeoutError,
  WebhookVerificationError,
} from './core/errors.ts'
export type { Fault } from './core/faults.ts'
export type { Hooks, Logger, RequestInfo, RequestStart, ResponseInfo, RetryInfo } from './core/hooks.ts'
export type { ApiKey } from './core/keys.ts'
export type { MemoryAnswer, MemoryRequest, MemoryTransport } from './core/memory-transport.ts'
export type { Page, Pages } from './core/pages.ts'
export type { Transport, TransportAnswer, TransportRequest } from './core/transport.ts'
export type { UnwrapOptions, WebhookHeaders } from './core/webhooks.ts'
