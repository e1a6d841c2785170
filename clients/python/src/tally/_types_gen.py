# Made by npm run generate from openapi.yaml and clients/operations.ts.
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

__all__ = [
    "Amount",
    "Customer",
    "Account",
    "Balances",
    "Balance",
    "AccountUsage",
    "AccountUsageEventsConsumedItem",
    "PeriodUsage",
    "PeriodUsageDataItem",
    "UsageLine",
    "DailyBalances",
    "DailyBalancesDataItem",
    "Metric",
    "Grant",
    "RefillConfiguration",
    "Refill",
    "UsageEvent",
    "EventAggregate",
    "UsageEventBatchTaken",
    "EventCorrectionBatchTaken",
    "EventRevision",
    "GroupedUsage",
    "UsageSeries",
    "UsagePeriodsItem",
    "UsageGroup",
    "UsageRest",
    "ReportedCurrency",
    "Product",
    "FlatPrice",
    "PerUnitPrice",
    "TieredPrice",
    "PriceTier",
    "PackagePrice",
    "PercentagePrice",
    "RateCardInList",
    "RateCard",
    "Rate",
    "RateFilter",
    "ValuePrice",
    "Simulation",
    "SimulatedAccount",
    "SimulatedLine",
    "LineTier",
    "LineShare",
    "SimulationTotals",
    "SimulationTotalsQuantiles",
    "SimulationTotalsLargest",
    "ContractSummary",
    "Cancellation",
    "ContractPeriod",
    "Contract",
    "ContractLine",
    "PriceOverride",
    "ContractCredit",
    "InvoicePreview",
    "InvoiceLine",
    "AppliedCredit",
    "UnratedUsage",
    "InvoiceWarning",
    "InvoiceDifference",
    "InvoiceDifferenceLinesItem",
    "NumberChange",
    "ChangedEvent",
    "EventState",
    "EventStateLinesItem",
    "InvoiceSummary",
    "Caller",
    "CallerCompany",
    "ApiKey",
    "IssuedApiKey",
    "RotatedApiKey",
    "AuditEntry",
    "TestClock",
    "TestReset",
    "TestWorld",
    "TestDrained",
    "ListCustomersQuery",
    "NewCustomer",
    "CustomerChanges",
    "ListAccountsQuery",
    "NewAccount",
    "ListBalancesQuery",
    "AccountChanges",
    "GetAccountUsageQuery",
    "GetAccountMonthlyUsageQuery",
    "GetAccountDailyUsageQuery",
    "GetAccountBalanceQuery",
    "GetAccountDailyBalanceQuery",
    "ListMetricsQuery",
    "NewMetric",
    "MetricChanges",
    "GetMonthlyUsageQuery",
    "ListGrantsQuery",
    "NewGrant",
    "ListRefillConfigurationsQuery",
    "NewRefillConfiguration",
    "RefillConfigurationChanges",
    "ListRefillsQuery",
    "ListEventsQuery",
    "NewUsageEvent",
    "AggregateEventsQuery",
    "UsageEventBatch",
    "EventCorrectionBatch",
    "EventCorrection",
    "EventChanges",
    "ListEventRevisionsQuery",
    "GetUsageQuery",
    "ListCurrenciesQuery",
    "ListProductsQuery",
    "NewProduct",
    "ProductChanges",
    "ListPricesQuery",
    "NewFlatPrice",
    "NewPerUnitPrice",
    "NewTieredPrice",
    "NewPriceTier",
    "NewPackagePrice",
    "NewPercentagePrice",
    "PriceChanges",
    "ListRateCardsQuery",
    "NewRateCard",
    "NewRate",
    "RateFilterInput",
    "ValuePriceInput",
    "RateCardChanges",
    "ListRatesQuery",
    "RateCardChange",
    "NewSimulation",
    "ListContractsQuery",
    "NewContract",
    "NewContractLine",
    "PriceOverrideInput",
    "NewContractCredit",
    "ContractChanges",
    "ListContractLinesQuery",
    "ContractLineChanges",
    "ContractCancellation",
    "NewInvoicePreview",
    "ListInvoicePreviewsQuery",
    "ListApiKeysQuery",
    "NewApiKey",
    "ApiKeyRotation",
    "ListAuditTrailQuery",
    "TestClockTime",
    "TestClockAdvance",
    "TestSeed",
    "TestDrain",
    "Price",
    "NewPrice",
]

Amount = str | int | Decimal


class Customer(TypedDict):
    id: str
    name: str
    external_id: NotRequired[str]
    payments_customer_id: NotRequired[str]
    accounting_customer_id: NotRequired[str]
    created_at: int
    updated_at: int


class Account(TypedDict):
    id: str
    external_id: NotRequired[str]
    service_customer_id: NotRequired[str]
    name: str
    description: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class Balances(TypedDict):
    data: list[Balance]


class Balance(TypedDict):
    account_id: str
    metric_id: str | None
    """Null for a currency."""
    currency: str | None
    """Null for a metric."""
    grant_total: str
    usage_total: str
    balance: str
    """grant_total minus usage_total."""


class AccountUsage(TypedDict):
    account: Account
    events_consumed: list[AccountUsageEventsConsumedItem]


class AccountUsageEventsConsumedItem(TypedDict):
    metric_id: str | None
    currency: str | None
    metric_name: str | None
    """Null for a currency."""
    measurement_units: str | None
    """Null for a currency."""
    quantity: str


class PeriodUsage(TypedDict):
    aggregation: Literal["sum", "min", "max", "avg", "latest", "count"]
    data: list[PeriodUsageDataItem]
    """In order of time, without gaps."""


class PeriodUsageDataItem(TypedDict):
    period_start_at: int
    """The first second of the day or month, which may lie before the range."""
    data: list[UsageLine]


class UsageLine(TypedDict):
    metric_id: str | None
    """Null for a currency."""
    currency: str | None
    """Null for a metric."""
    quantity: str
    """In the metric's unit or the currency's major unit; for the aggregation `count`, a number of events."""


class DailyBalances(TypedDict):
    account_id: str
    metric_id: str | None
    """Null for a currency."""
    currency: str | None
    """Null for a metric."""
    data: list[DailyBalancesDataItem]
    """In order of time, without gaps."""


class DailyBalancesDataItem(TypedDict):
    period_start_at: int
    """The first second of the day, which may lie before the range."""
    grant_total: str
    usage_total: str
    balance: str
    """grant_total minus usage_total."""


class Metric(TypedDict):
    id: str
    name: str
    description: str
    measurement_units: str
    external_id: NotRequired[str]
    event_type: NotRequired[str]
    """The `type` of the CloudEvents that this metric counts."""
    event_quantity: NotRequired[str]
    """The field of a CloudEvent's `data` with the quantity. Absent if each event counts as 1."""
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class Grant(TypedDict):
    id: str
    description: NotRequired[str]
    account_id: str
    metric_id: str | None
    """Null for credit in a currency."""
    currency: str | None
    """Null for credit in a metric."""
    amount: str
    effective_at: int
    expires_at: NotRequired[int]
    accepted_at: int
    created_at: int
    updated_at: int
    archived_at: int | None
    status: Literal["active", "scheduled", "voided", "archived", "expired"]
    contract_v1_id: NotRequired[str]


class RefillConfiguration(TypedDict):
    """Identified by `account_id` and `metric_id`. A configuration has no other id."""
    account_id: str
    metric_id: str
    minimum_balance: str
    target_balance: str
    is_active: bool
    created_at: int
    updated_at: int


class Refill(TypedDict):
    """An automatic refill, and the figures of its computation."""
    grant_id: str
    account_id: str
    metric_id: str
    occurrence: int
    """The first refill of the configuration is 1, the next one 2."""
    amount: str
    """The granted amount, which is target_balance minus balance."""
    minimum_balance: str
    target_balance: str
    grant_total: str
    """The grants in force at effective_at, without this one."""
    usage_total: str
    """All usage that was counted when the refill was made."""
    balance: str
    """The balance before, which is grant_total minus usage_total, and below minimum_balance."""
    effective_at: int
    created_at: int


class UsageEvent(TypedDict):
    id: str
    metric_id: str | None
    """Null for usage in a currency."""
    currency: str | None
    """Null for usage of a metric."""
    quantity: str
    account_id: str
    occurred_at: int
    properties: dict[str, Any]
    """The properties as they were reported or corrected, with the fields in the order of their names. Events that an earlier version accepted keep the order of their report."""
    accepted_at: int
    created_at: int
    corrected_at: NotRequired[int]
    """When it was last corrected or voided. Absent if it was never corrected."""
    voided_at: NotRequired[int]
    """When it was voided and stopped counting. Absent while it counts."""


class EventAggregate(TypedDict):
    property: str
    value: str
    aggregation: Literal["sum", "min", "max", "avg", "latest", "count"]
    data: list[UsageLine]


class UsageEventBatchTaken(TypedDict):
    accepted: int
    """The number of events in the request. Of CloudEvents, the number of events that they became."""
    event_ids: list[str]
    """Their ids, in the order of the request. The events of one CloudEvent are in the order in which their metrics were created."""


class EventCorrectionBatchTaken(TypedDict):
    corrected: int
    """The number of corrections in the request."""
    event_ids: list[str]
    """The ids of the events, in the order of the request."""


class EventRevision(TypedDict):
    revision: int
    """0 for the report, then 1, 2, 3 for its corrections."""
    api_key_id: str | None
    """The API key that made the correction; null for the report."""
    event: UsageEvent


class GroupedUsage(TypedDict):
    metric_id: str | None
    """Null for a currency."""
    currency: str | None
    """Null for a metric."""
    aggregation: Literal["sum", "min", "max", "avg", "latest", "count"]
    group_by: Literal["account", "property"] | None
    """Null if usage is not grouped. Then `data` is empty."""
    property: str | None
    """The property by whose value usage is grouped."""
    total: UsageSeries
    """All usage in the range."""
    data: list[UsageGroup]
    """The groups with the largest quantities, the largest first."""
    rest: UsageRest | None
    """All other groups. Null if there are none."""
    without: UsageSeries | None
    """The usage of events that lack the property. Null if there are none."""


class UsageSeries(TypedDict):
    quantity: str | None
    event_count: int
    periods: NotRequired[list[UsagePeriodsItem]]


class UsagePeriodsItem(TypedDict):
    period_start_at: int
    """The first second of the day or month, which may lie before the range."""
    quantity: str | None
    event_count: int


class UsageGroup(TypedDict):
    account_id: str | None
    """Null if usage is grouped by property."""
    value: str | None
    """Null if usage is grouped by account."""
    quantity: str | None
    event_count: int
    periods: NotRequired[list[UsagePeriodsItem]]


class UsageRest(TypedDict):
    groups: int
    """The number of these groups."""
    quantity: str | None
    event_count: int
    periods: NotRequired[list[UsagePeriodsItem]]


class ReportedCurrency(TypedDict):
    currency: str
    name: str | None
    """Its name in ISO 4217; null for a code that the standard does not know."""
    minor_units: int | None
    """The number of decimal places of its amounts in ISO 4217: 2 for dollars and cents. Null if the standard has none, as for gold. Tally always stores 18 places."""
    first_reported_at: int
    """When usage in it was first accepted."""
    last_reported_at: int
    """When usage in it was last accepted. A repeat of an event also sets this time."""


class Product(TypedDict):
    id: str
    name: str
    description: NotRequired[str]
    external_id: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class FlatPrice(TypedDict):
    id: str
    product_id: str
    currency: str
    model: Literal["flat"]
    amount: str
    """The amount due."""
    recurring: bool
    """Whether it is due in each period, by the share of the period in which its line is in force. Otherwise it is due once, in full, when its line starts."""
    description: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class PerUnitPrice(TypedDict):
    id: str
    product_id: str
    currency: str
    model: Literal["per_unit"]
    unit_amount: str
    """The cost of `per` units."""
    per: str
    """The number of units that the unit amount is for."""
    included_quantity: str
    """The free part of each quantity."""
    minimum_amount: NotRequired[str]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[str]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class TieredPrice(TypedDict):
    id: str
    product_id: str
    currency: str
    model: Literal["graduated", "volume"]
    tiers: list[PriceTier]
    """In rising order of `up_to`, which is null only in the last tier. `graduated`: each tier prices the part of the quantity that is in it. `volume`: the tier that contains the whole quantity prices all of it."""
    per: str
    """The number of units that the unit amount is for."""
    included_quantity: str
    """The free part of each quantity."""
    minimum_amount: NotRequired[str]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[str]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class PriceTier(TypedDict):
    up_to: str | None
    unit_amount: str
    flat_amount: str


class PackagePrice(TypedDict):
    id: str
    product_id: str
    currency: str
    model: Literal["package"]
    package_size: str
    """The number of units in a package; greater than 0."""
    package_amount: str
    """The price of a package. A package that is not full costs the whole price."""
    included_quantity: str
    """The free part of each quantity."""
    minimum_amount: NotRequired[str]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[str]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class PercentagePrice(TypedDict):
    id: str
    product_id: str
    currency: str
    model: Literal["percentage"]
    percent: str
    """The percentage of the quantity that is due; at most 1000."""
    included_quantity: str
    """The free part of each quantity."""
    minimum_amount: NotRequired[str]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[str]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class RateCardInList(TypedDict):
    id: str
    name: str
    currency: str
    description: NotRequired[str]
    external_id: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""


class RateCard(TypedDict):
    id: str
    name: str
    currency: str
    description: NotRequired[str]
    external_id: NotRequired[str]
    created_at: int
    updated_at: int
    archived_at: int | None
    """The time at which it was archived. Null while it is not archived."""
    rates: list[Rate]
    """The rates that have not ended by now, including those that begin later, in order of creation."""


class Rate(TypedDict):
    id: str
    product_id: str
    """The product of all its prices."""
    metric_id: str | None
    """Null for usage in a currency, and for a fixed charge."""
    currency: str | None
    """Null for usage of a metric, and for a fixed charge."""
    aggregation: Literal["sum", "min", "max", "avg", "latest", "count"]
    filters: list[RateFilter]
    group_by: NotRequired[str]
    prices: NotRequired[list[ValuePrice]]
    """In order of the code points of the values."""
    price_id: NotRequired[str]
    starts_at: int
    ends_at: NotRequired[int]
    """Absent while it is open. Equal to `starts_at` if it was withdrawn."""
    created_at: int


class RateFilter(TypedDict):
    """Accepts an event if its property has one of the values."""
    property: str
    values: list[str]


class ValuePrice(TypedDict):
    value: str
    price_id: str


class Simulation(TypedDict):
    data: list[SimulatedAccount]
    """By account id."""
    has_more: bool
    currency: str
    """Of all amounts. It is the card's currency."""
    usage_as_of: int
    """The answer includes usage that was accepted before this second, at any time of occurrence."""
    totals: NotRequired[SimulationTotals]
    """Only on the first page."""


class SimulatedAccount(TypedDict):
    account_id: str
    baseline: str
    """The amount by the baseline."""
    candidate: str
    """The amount by the simulated card."""
    difference: str
    """The candidate minus the baseline."""
    lines: NotRequired[list[SimulatedLine]]
    """Only with `include_lines`. The lines of the baseline come first, then those of the candidate. Each side is ordered by period, then as on an invoice."""


class SimulatedLine(TypedDict):
    """A line as on an invoice. `side` says whether it belongs to the baseline or the candidate."""
    side: Literal["baseline", "candidate"]
    contract_line_id: str | None
    """The account whose overrides and discount apply. Null if none apply."""
    rate_id: str
    """A rate that `changes` adds has an id only in this answer."""
    product_id: str
    price: Price
    start_at: int
    end_at: int
    metric_id: str | None
    currency: str | None
    """The currency of the usage, if usage is measured in a currency. Amounts are in the currency of the rate card."""
    aggregation: Literal["sum", "min", "max", "avg", "latest", "count"] | None
    """Null if no usage is measured."""
    filters: list[RateFilter]
    group_by: str | None
    value: str | None
    """The value of the `group_by` property. Null for all other values together, and without `group_by`."""
    quantity: str
    event_count: int | None
    """Null if no usage is measured."""
    billable_quantity: str
    tiers: NotRequired[list[LineTier]]
    """Only for graduated and volume prices."""
    discount_percent: str
    share: LineShare
    bound: NotRequired[Literal["minimum", "maximum"]]
    exact_amount: str
    amount: str
    query: str | None
    """The SELECT over the analysts' view `events` that gives the quantity. Null if no usage is measured."""


class LineTier(TypedDict):
    up_to: str | None
    """Null for the last one."""
    quantity: str
    exact_amount: str


class LineShare(TypedDict):
    """The line's part of the whole period."""
    seconds: int
    of: int


class SimulationTotals(TypedDict):
    accounts: int
    """How many are compared."""
    baseline: str
    candidate: str
    difference: str
    increased: int
    """How many would pay more."""
    decreased: int
    """How many would pay less."""
    unchanged: int
    quantiles: SimulationTotalsQuantiles
    """Quantiles of the differences, in rising order. Each is the difference of one account, and the given percentage of accounts has this difference or a smaller one. 0 without accounts."""
    largest: SimulationTotalsLargest
    """The accounts whose amounts would change most: at most 20 increases and 20 decreases, the greatest difference first."""
    in_other_currencies: int
    """The number of accounts that are left out because they follow a card in another currency at `start_at`."""


class SimulationTotalsQuantiles(TypedDict):
    """Quantiles of the differences, in rising order. Each is the difference of one account, and the given percentage of accounts has this difference or a smaller one. 0 without accounts."""
    p5: str
    p25: str
    p50: str
    p75: str
    p95: str


class SimulationTotalsLargest(TypedDict):
    """The accounts whose amounts would change most: at most 20 increases and 20 decreases, the greatest difference first."""
    increases: list[SimulatedAccount]
    decreases: list[SimulatedAccount]


class ContractSummary(TypedDict):
    id: str
    external_id: NotRequired[str]
    name: NotRequired[str]
    description: NotRequired[str]
    account_id: str
    currency: str
    cadence: Literal["day", "week", "month", "quarter", "half_year", "year"]
    starts_at: int
    anchor_at: int
    ends_at: int | None
    """Null while it is open."""
    status: Literal["scheduled", "active", "canceled", "ended"]
    cancellation: Cancellation | None
    """Null if there is no cancellation, or it was undone."""
    current_period: ContractPeriod | None
    """The current period. Null while the contract does not run."""
    created_at: int
    updated_at: int


class Cancellation(TypedDict):
    cancel_at: int
    """The time from which the contract no longer runs, in Unix seconds."""
    mode: Literal["immediate", "period_end", "at"]
    reason: NotRequired[str]
    requested_at: int


class ContractPeriod(TypedDict):
    start_at: int
    """The part of the period in which the contract runs."""
    end_at: int
    full_start_at: int
    """The whole period, which amounts are for."""
    full_end_at: int


class Contract(TypedDict):
    id: str
    external_id: NotRequired[str]
    name: NotRequired[str]
    description: NotRequired[str]
    account_id: str
    currency: str
    cadence: Literal["day", "week", "month", "quarter", "half_year", "year"]
    starts_at: int
    anchor_at: int
    ends_at: int | None
    """Null while it is open."""
    status: Literal["scheduled", "active", "canceled", "ended"]
    cancellation: Cancellation | None
    """Null if there is no cancellation, or it was undone."""
    current_period: ContractPeriod | None
    """The current period. Null while the contract does not run."""
    created_at: int
    updated_at: int
    lines: list[ContractLine]
    """The lines that have not ended, in order of creation."""


class ContractLine(TypedDict):
    """A line is never edited. It follows a rate card (`rate_card_id`, `price_overrides`, `discount_percent`), charges a price (`price_id`, `quantity`, `discount_percent`), sets a minimum (`minimum_amount`) or gives credit (`credit`)."""
    id: str
    description: NotRequired[str]
    starts_at: int
    ends_at: int | None
    """Null while it is open. Equal to starts_at if it was withdrawn. A line is not in force after its contract has ended."""
    rate_card_id: NotRequired[str]
    price_overrides: NotRequired[list[PriceOverride]]
    discount_percent: NotRequired[str]
    price_id: NotRequired[str]
    quantity: NotRequired[str]
    """1 for a flat price."""
    minimum_amount: NotRequired[str]
    credit: NotRequired[ContractCredit]
    created_at: int


class PriceOverride(TypedDict):
    product_id: str
    """The product whose price is replaced."""
    value: NotRequired[str | None]
    """The value of the rate's `group_by` to which the override applies. Null means all other values. Without this field, the override applies to all usage of the product that no other override covers."""
    price_id: str
    """The price of the product that applies instead, if it fits the rate."""


class ContractCredit(TypedDict):
    amount: str
    metric_id: str | None
    """Null for credit in a currency."""
    currency: str | None
    """Null for credit in a metric."""
    expires: Literal["never", "period_end"]


class InvoicePreview(TypedDict):
    contract_id: str
    account_id: str
    currency: str
    status: Literal["scheduled", "active", "canceled", "ended"]
    period: ContractPeriod
    as_of: int
    """Usage that occurred before this second is in it."""
    usage_as_of: int
    """The answer includes all events that were accepted, corrected or voided, and all grants that were made or voided, before this second, at any time of occurrence. With `known_at` or `difference_since`, it includes nothing later. Without them, it may include changes that arrived while the answer was made."""
    lines: list[InvoiceLine]
    """In order of the contract's lines, then of rates (both by start, then by id), then of values, with the line for all other values last."""
    subtotal: str
    """The amounts of all lines, added up."""
    minimum_adjustment: str
    """The amount that the contract's minimum adds."""
    total: str
    """Before tax."""
    credits_applied: list[AppliedCredit]
    """The grants of the account in this currency that pay for it, in the order in which they are spent. The grant that expires first is spent first, then the one that took effect first, then by id."""
    credit_total: str
    """'The part that credit pays. The preview lowers no balance: when you settle the invoice, debit this amount.'"""
    amount_due: str
    unrated: list[UnratedUsage]
    """Usage in the time of lines that follow a card, but covered by none of its rates. If a metric has rates under several aggregations, this is the usage that the widest aggregation does not cover."""
    warnings: list[InvoiceWarning]
    """Problems that a person should check before the invoice is used."""
    difference: NotRequired[InvoiceDifference]


class InvoiceLine(TypedDict):
    contract_line_id: str
    rate_id: str | None
    """Null for a price of the contract itself."""
    product_id: str
    price: Price
    start_at: int
    end_at: int
    metric_id: str | None
    currency: str | None
    """The currency of the usage, if usage is measured in a currency. Amounts are in the currency of the preview."""
    aggregation: Literal["sum", "min", "max", "avg", "latest", "count"] | None
    """Null if no usage is measured."""
    filters: list[RateFilter]
    group_by: str | None
    value: str | None
    """The value of the `group_by` property. Null for all other values together, and without `group_by`."""
    quantity: str
    event_count: int | None
    """Null if no usage is measured."""
    billable_quantity: str
    tiers: NotRequired[list[LineTier]]
    """The quantity in each tier that was reached, before discount, share and bounds. Only for graduated and volume prices."""
    discount_percent: str
    share: LineShare
    bound: NotRequired[Literal["minimum", "maximum"]]
    exact_amount: str
    amount: str
    query: str | None
    """The SELECT over the analysts' view `events` that gives the quantity. Null if no usage is measured, and with `known_at` or `difference_since`, because the view has only the present versions of events."""


class AppliedCredit(TypedDict):
    grant_id: str | None
    """Null for credit of a line of the contract that is due and not yet written."""
    amount: str


class UnratedUsage(TypedDict):
    metric_id: str | None
    currency: str | None
    event_count: int
    quantity: str


class InvoiceWarning(TypedDict):
    code: Literal["negative_quantity", "override_unused"]
    """`negative_quantity`: the quantity of a rate is below 0, and 0 is billed. `override_unused`: an override of the contract is for a product that its card does not price."""
    contract_line_id: str
    rate_id: NotRequired[str]
    value: NotRequired[str | None]
    price_override: NotRequired[PriceOverride]


class InvoiceDifference(TypedDict):
    """The difference between this answer and the answer at `since`. Only with `difference_since`. For each line, the earlier value plus the difference is the value now."""
    since: int
    """The `difference_since` of the request."""
    lines: list[InvoiceDifferenceLinesItem]
    """All lines of the earlier and the current answer, in the order of the invoice."""
    subtotal: NumberChange
    minimum_adjustment: NumberChange
    total: NumberChange
    credit_total: NumberChange
    amount_due: NumberChange
    events: list[ChangedEvent]
    """The first events of the account, in the time of lines that follow a card, that were accepted, corrected or voided since. They are ordered by the time of their last change, then by id."""
    has_more: bool
    """Whether there are more events than these. A later `difference_since` shows the others."""


class InvoiceDifferenceLinesItem(TypedDict):
    contract_line_id: str
    rate_id: str | None
    value: str | None
    start_at: int
    quantity: NumberChange
    amount: NumberChange


class NumberChange(TypedDict):
    then: str | None
    """Null for a line that did not exist then, which counts as 0."""
    now: str | None
    """Null for a line that no longer exists."""
    difference: str
    """The present value minus the earlier value."""


class ChangedEvent(TypedDict):
    event_id: str
    metric_id: str | None
    currency: str | None
    occurred_at: int
    accepted_at: int
    corrected_at: int | None
    """The time of its last correction, as of this answer. Null if it was not corrected."""
    then: EventState | None
    """Null for an event that was not yet accepted."""
    now: EventState


class EventState(TypedDict):
    """The content of an event at one time."""
    quantity: str
    voided: bool
    lines: list[EventStateLinesItem]
    """The lines that include it. There are several if its metric is rated under several aggregations, and none if it is void or no rate covers it."""


class EventStateLinesItem(TypedDict):
    contract_line_id: str
    rate_id: str
    value: str | None
    start_at: int


class InvoiceSummary(TypedDict):
    """An invoice preview without its lines."""
    contract_id: str
    account_id: str
    currency: str
    status: Literal["scheduled", "active", "canceled", "ended"]
    period: ContractPeriod
    as_of: int
    """Usage that occurred before this second is in it."""
    usage_as_of: int
    """The answer includes usage that was accepted before this second, at any time of occurrence."""
    subtotal: str
    """The amounts of all lines, added up."""
    minimum_adjustment: str
    """The amount that the contract's minimum adds."""
    total: str
    """Before tax."""
    credits_applied: list[AppliedCredit]
    """The grants of the account in this currency that pay for it, in the order in which they are spent. The grant that expires first is spent first, then the one that took effect first, then by id."""
    credit_total: str
    """'The part that credit pays. The preview lowers no balance: when you settle the invoice, debit this amount.'"""
    amount_due: str
    unrated: list[UnratedUsage]
    """Usage in the time of lines that follow a card, but covered by none of its rates. If a metric has rates under several aggregations, this is the usage that the widest aggregation does not cover."""
    warnings: list[InvoiceWarning]
    """Problems that a person should check before the invoice is used."""


class Caller(TypedDict):
    company: CallerCompany
    namespace_id: str
    """The id of its rows in the views of analysts. Each reset gives a test company another one."""
    account_id: str | None
    """The only account that the key may read. Null if it is not an account key."""
    api_key: ApiKey
    now: int
    """The company's time, which for a test company is the time of its clock."""
    real_now: int
    """The current time."""
    version: str
    """The version of this Tally and of this document."""


class CallerCompany(TypedDict):
    id: str
    name: str
    mode: Literal["live", "test"]
    """Whether its data are real, or for tests."""


class ApiKey(TypedDict):
    id: str
    name: str
    last_characters: str
    """The last four of the key."""
    permissions: list[Literal["read:all", "write:all", "manage:keys", "read:account"]]
    account_id: NotRequired[str]
    """The only account that it may read, if it is an account key."""
    status: Literal["active", "expired", "revoked"]
    created_at: int
    issued_by: str | None
    """The key that made it. Null if an operator made it."""
    last_used_at: int | None
    """The minute in which it was last used. Null if it was never used."""
    expires_at: NotRequired[int]
    """The time at which it expires or has expired."""
    replaced_by: NotRequired[str]
    """The key that replaced it when it was rotated."""
    revoked_at: int | None
    """The time at which it was revoked. Null if it was not revoked."""


class IssuedApiKey(TypedDict):
    key: str
    """The key itself, for the header x-api-key. It is shown in this answer and never again."""
    api_key: ApiKey


class RotatedApiKey(TypedDict):
    key: str
    """The new key itself. It is shown in this answer and never again."""
    api_key: ApiKey
    old_api_key: ApiKey


class AuditEntry(TypedDict):
    id: str
    created_at: int
    api_key_id: str | None
    """The key that was used. Null if an operator made the change by a command."""
    action: str
    """The kind of change, such as `account.changed`."""
    resource_id: str
    """To what, by its id as it stands in its path."""
    changes: dict[str, Any]
    """The body of the request, without any key."""


class TestClock(TypedDict):
    now: int
    """The company's time."""
    real_now: int
    """The current time."""


class TestReset(TypedDict):
    reset_at: int


class TestWorld(TypedDict):
    seed: int
    up_to: int
    """The seed's usage is in the 90 days before this time."""
    customer_ids: list[str]
    account_ids: list[str]
    metric_ids: list[str]
    grant_ids: list[str]
    product_ids: list[str]
    price_ids: list[str]
    rate_card_id: str
    contract_id: str
    """The grant of the first account, from its first usage on."""
    events: int
    """The number of usage events."""


class TestDrained(TypedDict):
    drained: Literal[True]


class ListCustomersQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last customer of the page before."""
    order: NotRequired[Literal["oldest", "newest"]]
    """Whether the list begins with the oldest item or with the newest."""
    query: NotRequired[str]
    """Only customers that have this text in their name or `external_id`, in upper or lower case. The text has no wildcards."""
    external_id: NotRequired[str]
    """Only the customer with this id of yours."""


class NewCustomer(TypedDict):
    name: str
    external_id: NotRequired[str | None]
    payments_customer_id: NotRequired[str | None]
    """The customer's id at your payment provider."""
    accounting_customer_id: NotRequired[str | None]
    """The customer's id in your accounting system."""


class CustomerChanges(TypedDict):
    name: NotRequired[str]
    external_id: NotRequired[str | None]
    """Null clears it."""
    payments_customer_id: NotRequired[str | None]
    """Null clears it."""
    accounting_customer_id: NotRequired[str | None]
    """Null clears it."""


class ListAccountsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last account of the page before, in the requested order."""
    sort: NotRequired[Literal["created_at", "customer_name"]]
    """`created_at`: newest first. `customer_name`: by the customer's name, then the account's, ignoring case. Accounts without a customer come last."""
    query: NotRequired[str]
    """Only accounts that have this text in their name, their `external_id` or their customer's name, in upper or lower case. The text has no wildcards."""
    service_customer_id: NotRequired[str]
    """Only accounts of this customer."""
    is_archived: NotRequired[bool]
    """`true`: only accounts that are archived. `false`: only the others."""


class NewAccount(TypedDict):
    name: str
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    service_customer_id: NotRequired[str | None]
    """The customer this account belongs to."""


class ListBalancesQuery(TypedDict):
    account_ids: Sequence[str]
    """The accounts: 1 to 100 ids, separated by commas, each only once."""


class AccountChanges(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    """Null clears it."""
    external_id: NotRequired[str | None]
    """Null clears it."""
    service_customer_id: NotRequired[str | None]
    """The new customer of the account. Null means no customer."""


class GetAccountUsageQuery(TypedDict):
    start_at: int
    """The first second of the range."""
    end_at: int
    """The first second after the range."""
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"]]
    """The function that computes one quantity from the events."""
    currency: NotRequired[str]
    """Only usage of this currency, in upper or lower case."""


class GetAccountMonthlyUsageQuery(TypedDict):
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"]]
    """The function that computes one quantity from the events."""
    currency: NotRequired[str]
    """Only usage of this currency, in upper or lower case."""


class GetAccountDailyUsageQuery(TypedDict):
    start_at: int
    """The first second of the range."""
    end_at: int
    """The first second after the range."""
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"]]
    """The function that computes one quantity from the events."""
    currency: NotRequired[str]
    """Only usage of this currency, in upper or lower case."""


class GetAccountBalanceQuery(TypedDict):
    metric_id: NotRequired[str]
    """The metric of the balance."""
    currency: NotRequired[str]
    """The currency of the balance, in upper or lower case."""


class GetAccountDailyBalanceQuery(TypedDict):
    metric_id: NotRequired[str]
    """The metric of the balance."""
    currency: NotRequired[str]
    """The currency of the balance, in upper or lower case."""
    start_at: int
    """The first second of the range."""
    end_at: int
    """The first second after the range."""


class ListMetricsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last metric of the page before."""


class NewMetric(TypedDict):
    name: str
    description: NotRequired[str | None]
    measurement_units: NotRequired[str | None]
    external_id: NotRequired[str | None]
    event_type: NotRequired[str | None]
    event_quantity: NotRequired[str | None]


class MetricChanges(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str]
    measurement_units: NotRequired[str]
    external_id: NotRequired[str | None]
    """Null clears it."""
    event_type: NotRequired[str | None]
    event_quantity: NotRequired[str | None]


class GetMonthlyUsageQuery(TypedDict):
    start_at: NotRequired[int]
    """The first second of the range. Without it, five calendar years before now."""
    end_at: NotRequired[int]
    """The first second after the range. Without it, now."""
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"]]
    """The function that computes one quantity from the events."""
    currency: NotRequired[str]
    """Only usage of this currency, in upper or lower case."""


class ListGrantsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last grant of the page before."""
    order: NotRequired[Literal["oldest", "newest"]]
    """Whether the list begins with the oldest item or with the newest."""
    account_id: NotRequired[str]
    """Only grants to this account."""
    metric_id: NotRequired[str]
    """Only grants of this metric."""
    currency: NotRequired[str]
    """Only grants of this currency, in upper or lower case."""
    contract_v1_id: NotRequired[str]
    """Only grants that come from this contract."""
    status: NotRequired[Literal["active", "scheduled", "voided", "archived", "expired"]]
    """Only grants that have this status now."""


class NewGrant(TypedDict):
    account_id: str
    metric_id: NotRequired[str | None]
    currency: NotRequired[str | None]
    amount: Amount
    """In the metric's unit or the currency's major unit. A negative amount is a debit."""
    effective_at: int
    """The time from which it counts."""
    expires_at: NotRequired[int | None]
    """The time from which it no longer counts. It is after effective_at."""
    description: NotRequired[str | None]
    contract_v1_id: NotRequired[str | None]
    """The contract this credit comes from."""


class ListRefillConfigurationsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The `account_id` and the `metric_id` of the last configuration of the page before, with a slash in between, as in the configuration's path."""
    account_id: NotRequired[str]
    """Only configurations of this account."""
    metric_id: NotRequired[str]
    """Only configurations of this metric."""


class NewRefillConfiguration(TypedDict):
    account_id: str
    metric_id: str
    minimum_balance: Amount
    """In the metric's unit. A balance below this is refilled."""
    target_balance: Amount
    """In the metric's unit, greater than minimum_balance. The balance after a refill."""
    is_active: NotRequired[bool | None]
    """Whether the balance is refilled automatically. Set it to false to pause, and to true to continue."""


class RefillConfigurationChanges(TypedDict):
    minimum_balance: NotRequired[Amount]
    target_balance: NotRequired[Amount]
    is_active: NotRequired[bool]


class ListRefillsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The `grant_id` of the last refill of the page before."""
    order: NotRequired[Literal["oldest", "newest"]]
    """Whether the list begins with the oldest item or with the newest."""


class ListEventsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last event of the page before. The filters need not match this event."""
    sort: NotRequired[Literal["accepted_at", "occurred_at"]]
    """The time that decides the order."""
    order: NotRequired[Literal["oldest", "newest"]]
    """Whether the list begins with the oldest item or with the newest."""
    account_id: NotRequired[str]
    """Only events of this account."""
    metric_id: NotRequired[str]
    """Only events of this metric."""
    currency: NotRequired[str]
    """Only events in this currency, in upper or lower case. Not together with `metric_id`."""
    start_at: NotRequired[int]
    """Only events that occurred at this second or later. Only with `sort=occurred_at`. Without it, five calendar years before now."""
    end_at: NotRequired[int]
    """Only events that occurred before this second. Only with `sort=occurred_at`. Without it, now."""
    property: NotRequired[str]
    """Only events that have a top-level property of this name with this `value`. Only with `sort=occurred_at`, and together with `value`."""
    value: NotRequired[str]
    """The value of the `property`, as text; see `GET /v2/events/aggregate`."""


class NewUsageEvent(TypedDict):
    account_id: str
    metric_id: NotRequired[str | None]
    currency: NotRequired[str | None]
    quantity: Amount
    """The quantity that was used, in the metric's unit or the currency's major unit. A negative quantity reduces usage."""
    occurred_at: NotRequired[int | None]
    """The time at which it happened, Unix time in seconds. Required with an idempotency key."""
    idempotency_key: NotRequired[str | None]
    """Your own key for this event, the same in each report of the event. It identifies the event within one account, one metric or currency and one time. With another account, metric, currency or time it is another event."""
    properties: NotRequired[Mapping[str, Any] | None]
    """Properties by which you can query usage. At most 16 KiB as JSON, nested at most 8 deep. A number that would lose digits in a 64-bit float is refused: send it as text. The order of fields does not matter, at any level. Queries and rates find top-level properties whose names have 1 to 100 letters, digits, dots, dashes and underscores."""


class AggregateEventsQuery(TypedDict):
    property: str
    """The name of the property."""
    value: str
    """The value of the property, as text."""
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"]]
    """The function that computes one quantity from the events."""
    start_at: NotRequired[int]
    """The first second of the range. Without it, five calendar years before now."""
    end_at: NotRequired[int]
    """The first second after the range. Without it, now."""
    currency: NotRequired[str]
    """Only usage of this currency, in upper or lower case."""


class UsageEventBatch(TypedDict):
    events: Sequence[NewUsageEvent]


class EventCorrectionBatch(TypedDict):
    corrections: Sequence[EventCorrection]


class EventCorrection(TypedDict):
    """With `void`, no other field except the event. Without `void`, at least one of the other fields."""
    event_id: str
    quantity: NotRequired[Amount]
    """The corrected quantity."""
    properties: NotRequired[Mapping[str, Any]]
    """All properties of the event from now on; the same limits as in a report."""
    void: NotRequired[Literal[True]]
    """The event no longer counts."""


class EventChanges(TypedDict):
    """At least one of the fields."""
    quantity: NotRequired[Amount]
    """The corrected quantity."""
    properties: NotRequired[Mapping[str, Any]]
    """All properties of the event from now on; the same limits as in a report."""


class ListEventRevisionsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[int]
    """The number of the last revision of the page before."""


class GetUsageQuery(TypedDict):
    metric_id: NotRequired[str]
    """The metric whose usage is added up."""
    currency: NotRequired[str]
    """The currency whose usage is added up, in upper or lower case."""
    start_at: int
    """The first second of the range."""
    end_at: int
    """The first second after the range."""
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"]]
    """The function that computes one quantity from the events."""
    account_id: NotRequired[str]
    """Only usage of this account."""
    period: NotRequired[Literal["day", "month"]]
    """Adds the usage by UTC day or calendar month."""
    group_by: NotRequired[Literal["account", "property"]]
    """Adds the usage by account, or by the value of `property`."""
    property: NotRequired[str]
    """The name of the property. Required with `group_by=property`, and only allowed with it."""
    limit: NotRequired[int]
    """The largest number of groups in `data`."""


class ListCurrenciesQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The code of the last currency of the page before."""


class ListProductsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last product of the page before."""
    external_id: NotRequired[str]
    """Only the product with this id of yours."""


class NewProduct(TypedDict):
    name: str
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]


class ProductChanges(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    """Null clears it."""
    external_id: NotRequired[str | None]
    """Null clears it."""


class ListPricesQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last price of the page before."""
    product_id: NotRequired[str]
    """Only prices of this product."""


class NewFlatPrice(TypedDict):
    product_id: str
    currency: str
    model: Literal["flat"]
    amount: Amount
    """The amount due."""
    recurring: NotRequired[bool | None]
    """Whether it is due in each period, by the share of the period in which its line is in force. Otherwise it is due once, in full, when its line starts."""
    description: NotRequired[str | None]


class NewPerUnitPrice(TypedDict):
    product_id: str
    currency: str
    model: Literal["per_unit"]
    unit_amount: Amount
    """The cost of `per` units."""
    per: NotRequired[str | None]
    """The number of units that the unit amount is for."""
    included_quantity: NotRequired[Amount | None]
    """The free part of each quantity."""
    minimum_amount: NotRequired[Amount | None]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[Amount | None]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str | None]


class NewTieredPrice(TypedDict):
    product_id: str
    currency: str
    model: Literal["graduated", "volume"]
    tiers: Sequence[NewPriceTier]
    """In rising order of `up_to`, which is null only in the last tier. `graduated`: each tier prices the part of the quantity that is in it. `volume`: the tier that contains the whole quantity prices all of it."""
    per: NotRequired[str | None]
    """The number of units that the unit amount is for."""
    included_quantity: NotRequired[Amount | None]
    """The free part of each quantity."""
    minimum_amount: NotRequired[Amount | None]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[Amount | None]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str | None]


class NewPriceTier(TypedDict):
    up_to: Amount | None
    """The last quantity of the tier, greater than 0. Null if there is none."""
    unit_amount: NotRequired[Amount | None]
    """The cost of `per` units of the price in the tier."""
    flat_amount: NotRequired[Amount | None]
    """The amount that is due as soon as any of the quantity is in the tier."""


class NewPackagePrice(TypedDict):
    product_id: str
    currency: str
    model: Literal["package"]
    package_size: Amount
    """The number of units in a package; greater than 0."""
    package_amount: Amount
    """The price of a package. A package that is not full costs the whole price. The sum of a period fills packages, not each event alone."""
    included_quantity: NotRequired[Amount | None]
    """The free part of each quantity."""
    minimum_amount: NotRequired[Amount | None]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[Amount | None]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str | None]


class NewPercentagePrice(TypedDict):
    product_id: str
    currency: str
    model: Literal["percentage"]
    percent: Amount
    """The percentage of the quantity that is due; at most 1000."""
    included_quantity: NotRequired[Amount | None]
    """The free part of each quantity."""
    minimum_amount: NotRequired[Amount | None]
    """The smallest amount due in a period, also without usage."""
    maximum_amount: NotRequired[Amount | None]
    """The highest amount due in a period; not below the minimum."""
    description: NotRequired[str | None]


class PriceChanges(TypedDict):
    description: NotRequired[str | None]
    """Null clears it."""


class ListRateCardsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last rate card of the page before."""
    external_id: NotRequired[str]
    """Only the rate card with this id of yours."""


class NewRateCard(TypedDict):
    name: str
    currency: str
    """The currency of all its prices, with minor units in ISO 4217. Upper case becomes lower case."""
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    rates: NotRequired[Sequence[NewRate] | None]
    """At any second at most 200 rates may be in force, with 2,000 prices together. At most twice as many may not have ended. All rates that have not ended may have 4,000 values of properties together."""


class NewRate(TypedDict):
    """A rate is for a metric, for a currency, or for neither. A rate for neither is a fixed charge. Its price is flat and recurring, and it has no filters and no `group_by`. All prices of a rate are of one product."""
    metric_id: NotRequired[str | None]
    currency: NotRequired[str | None]
    """The rate is for usage in this currency, in upper or lower case. It is not the currency of the invoice."""
    aggregation: NotRequired[Literal["sum", "min", "max", "avg", "latest", "count"] | None]
    """How events are aggregated to the quantity that is priced."""
    filters: NotRequired[Sequence[RateFilterInput] | None]
    """The rate covers only events that pass all filters."""
    group_by: NotRequired[str | None]
    """The property whose values have their own prices. The usage of each value is measured separately. No filter may use this property."""
    prices: NotRequired[Sequence[ValuePriceInput] | None]
    """The prices by value of the property. Required with `group_by`, and not allowed without it."""
    price_id: NotRequired[str | None]
    """Without `group_by` this is the price of all usage, and required. With `group_by` it is the price of all other values together and of events without the property. If it is left out, the rate does not cover these."""
    starts_at: NotRequired[int | None]
    """The time from which it is in force. By default it is 0 in a new rate card, and `effective_at` in a change. It cannot be before that `effective_at`."""
    ends_at: NotRequired[int | None]
    """The time from which it is no longer in force; after `starts_at`."""


class RateFilterInput(TypedDict):
    """Accepts an event if its property has one of the values."""
    property: str
    values: Sequence[str]


class ValuePriceInput(TypedDict):
    value: str
    price_id: str


class RateCardChanges(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    """Null clears it."""
    external_id: NotRequired[str | None]
    """Null clears it."""


class ListRatesQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last rate of the page before."""
    at: NotRequired[int]
    """Only rates that are in force at this second."""


class RateCardChange(TypedDict):
    """The change ends or adds at least one rate."""
    effective_at: NotRequired[int | None]
    """When rates end and other rates start. Without it, now."""
    end: NotRequired[Sequence[str] | None]
    """Rates that are in force at that time. A rate that starts at that time is withdrawn, and is never in force."""
    add: NotRequired[Sequence[NewRate] | None]
    """Rates that start at that time, or later."""


class NewSimulation(TypedDict):
    start_at: int
    """The first second of usage, where the first period begins."""
    end_at: int
    """The second after the last; not in the future, and at most 366 days after `start_at`."""
    cadence: NotRequired[Literal["day", "week", "month", "quarter", "half_year", "year"] | None]
    """The length of periods, from `start_at` on. The last one ends at `end_at`, and is rated as a whole period. Without `cadence`, the whole range is one period."""
    changes: NotRequired[RateCardChange | None]
    """The simulation uses the card as it would be after these changes. It uses the rates after all the changes for all periods. It refuses the same changes as the card."""
    against: NotRequired[str | None]
    """`contracts`: the card that each account follows at `start_at`, with its overrides and discount, or nothing if it follows none. Or the id of a rate card, as it is at `start_at`. Or `none`."""
    account_ids: NotRequired[Sequence[str] | None]
    """Without it, all accounts that have usage from `start_at` to `end_at`, or follow a card in that time."""
    include_lines: NotRequired[bool | None]
    """Shows the lines of each account. Only with `account_ids`."""
    limit: NotRequired[int | None]
    """The largest number of accounts on a page."""
    starting_after: NotRequired[str | None]
    """The id of the last account of the page before."""


class ListContractsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last contract of the page before."""
    order: NotRequired[Literal["oldest", "newest"]]
    """Whether the list begins with the oldest item or with the newest."""
    account_id: NotRequired[str]
    """Only contracts of this account."""
    rate_card_id: NotRequired[str]
    """Only contracts that have, or had, a line that follows this rate card."""
    external_id: NotRequired[str]
    """Only the contract with this id of yours."""


class NewContract(TypedDict):
    account_id: str
    currency: str
    """A currency of ISO 4217 with minor units, in upper or lower case."""
    cadence: Literal["day", "week", "month", "quarter", "half_year", "year"]
    starts_at: NotRequired[int | None]
    """The start of the contract, at most five calendar years ago. The default is now."""
    anchor_at: NotRequired[int | None]
    """A time at which a period begins, before or after the start. The default is starts_at."""
    ends_at: NotRequired[int | None]
    """The end of the contract; after starts_at. Without it, the contract has no end."""
    name: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    lines: NotRequired[Sequence[NewContractLine] | None]


class NewContractLine(TypedDict):
    """Exactly one of `rate_card_id`, `price_id`, `minimum_amount` and `credit` is required: the kind of the line. `price_overrides` are only for a rate card, `quantity` only for a price that is not flat, `discount_percent` for either."""
    starts_at: NotRequired[int | None]
    """The time from which it is in force, not before the start of the contract or, in a change, before the time of the change. That time is also the default."""
    ends_at: NotRequired[int | None]
    """The time from which it is no longer in force; after starts_at, and not after the contract."""
    description: NotRequired[str | None]
    rate_card_id: NotRequired[str | None]
    """The line rates usage by this card, whose currency is the contract's. An account follows one card at a time."""
    price_overrides: NotRequired[Sequence[PriceOverrideInput] | None]
    """Prices of this contract that replace those of the card. They also apply after changes of the card."""
    discount_percent: NotRequired[Amount | None]
    """At most 100; the default is 0. Minimum amounts of prices are applied after the discount."""
    price_id: NotRequired[str | None]
    """The line charges this price for the quantity. The price is in the contract's currency, and not a percentage price."""
    quantity: NotRequired[Amount | None]
    """The default is 1. The charge is for time, so a part of a period is charged by its share."""
    minimum_amount: NotRequired[Amount | None]
    """The smallest total of a whole period, in the contract's currency. Only one line at a time can set it."""
    credit: NotRequired[NewContractCredit | None]


class PriceOverrideInput(TypedDict):
    product_id: str
    """The product whose price is replaced."""
    value: NotRequired[str | None]
    """The value of the rate's `group_by` to which the override applies. Null means all other values. Without this field, the override applies to all usage of the product that no other override covers."""
    price_id: str
    """The price of the product that applies instead, if it fits the rate."""


class NewContractCredit(TypedDict):
    """Exactly one of `metric_id` and `currency` is required. It is the source of the credit."""
    amount: Amount
    """Greater than 0. The amount that is granted with each period, in full, as soon as the line is in force in the period."""
    metric_id: NotRequired[str | None]
    currency: NotRequired[str | None]
    """A currency of ISO 4217 with minor units, in upper or lower case."""
    expires: NotRequired[Literal["never", "period_end"] | None]


class ContractChanges(TypedDict):
    name: NotRequired[str | None]
    """Null clears it."""
    description: NotRequired[str | None]
    """Null clears it."""
    external_id: NotRequired[str | None]
    """Null clears it."""
    ends_at: NotRequired[int | None]
    """An end later than the current one, or null for none. To end a contract earlier, cancel it."""


class ListContractLinesQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last line of the page before."""


class ContractLineChanges(TypedDict):
    effective_at: NotRequired[int | None]
    """The time at which the lines end, and the earliest start of the new ones. Not in the past; the default is now."""
    end: NotRequired[Sequence[str] | None]
    """Lines that are in force at that time."""
    add: NotRequired[Sequence[NewContractLine] | None]
    """A contract has at most 200 lines that have not ended."""


class ContractCancellation(TypedDict):
    mode: Literal["immediate", "period_end", "at"]
    cancel_at: NotRequired[int | None]
    """Only with the mode `at`, and required there. From now to ends_at."""
    reason: NotRequired[str | None]


class NewInvoicePreview(TypedDict):
    contract_id: str
    at: NotRequired[int | None]
    """The period that contains this second. By default it is the current period, the first one of a contract that has not begun, and the last one of a contract that is over."""
    as_of: NotRequired[int | None]
    """Only usage that occurred before this second counts. By default it is `known_at`, or else now. With `changes` or `cancel_at` the default is the next second, in which they are in effect. `as_of` cannot be later than that second."""
    known_at: NotRequired[int | None]
    """Only the data of before this second count: events accepted, corrected or voided, and grants made or voided. For example, use the `usage_as_of` of an earlier answer. The answer has `known_at` as its `usage_as_of`, and the `status` at that time. `known_at` is also the default of `at` and `as_of`. It cannot be later than the `usage_as_of` of an answer without `known_at`. It is always in real time: for a test company whose clock was moved, also give `as_of`."""
    difference_since: NotRequired[int | None]
    """Adds `difference`: the changes from this second to `usage_as_of`. For example, use the `usage_as_of` of the answer from which an invoice was made. The answer then includes nothing later than its `usage_as_of`. `difference_since` cannot be after `usage_as_of` or after `known_at`."""
    changes: NotRequired[ContractLineChanges | None]
    """The preview is as if the contract were changed like this. The default of `effective_at` is now."""
    cancel_at: NotRequired[int | None]
    """The preview is as if the contract were canceled at this time."""


class ListInvoicePreviewsQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The contract_id of the last preview of the page before."""
    at: NotRequired[int]
    """The period that contains this second. Default now."""
    as_of: NotRequired[int]
    """Usage that occurred before this second counts. Default now; not in the future."""


class ListApiKeysQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last key of the page before."""
    account_id: NotRequired[str]
    """Only account keys of this account."""


class NewApiKey(TypedDict):
    name: str
    """What it is called in the list."""
    permissions: Sequence[Literal["read:all", "write:all", "manage:keys", "read:account"]]
    account_id: NotRequired[str | None]
    """Makes an account key, which reads only this account. `permissions` must then be `read:account` alone, and `expires_at` must be within 31 days from now."""
    expires_at: NotRequired[int | None]
    """The time at which it expires. By default it does not expire; with `account_id` it is required."""


class ApiKeyRotation(TypedDict):
    """Exactly one of overlap_seconds and old_key_ends_at is required."""
    overlap_seconds: NotRequired[int | None]
    """The time for which the old key stays valid. 0 ends it at once."""
    old_key_ends_at: NotRequired[int | None]
    """The end of the old key, within 90 days from now."""
    permissions: NotRequired[Sequence[Literal["read:all", "write:all", "manage:keys", "read:account"]] | None]
    """The permissions of the new key, some of the old key's. By default all of them."""
    expires_at: NotRequired[int | None]
    """The time at which the new key expires; null for never. The default is the end of the old key before this rotation."""


class ListAuditTrailQuery(TypedDict):
    limit: NotRequired[int]
    """The largest number of items on a page."""
    starting_after: NotRequired[str]
    """The id of the last entry of the page before."""
    resource_id: NotRequired[str]
    """Only entries of this resource, by the id in its path. For a refill configuration, this is its account's id and its metric's id with a slash in between."""
    api_key_id: NotRequired[str]
    """Only entries of this key."""


class TestClockTime(TypedDict):
    now: int


class TestClockAdvance(TypedDict):
    seconds: int


class TestSeed(TypedDict):
    seed: NotRequired[int | None]
    """A number that determines the data. Each number makes other data."""


class TestDrain(TypedDict):
    timeout: NotRequired[int | None]
    """The largest number of seconds to wait. The request never waits longer than nine tenths of its time limit."""


Price = FlatPrice | PerUnitPrice | TieredPrice | PackagePrice | PercentagePrice


NewPrice = NewFlatPrice | NewPerUnitPrice | NewTieredPrice | NewPackagePrice | NewPercentagePrice
