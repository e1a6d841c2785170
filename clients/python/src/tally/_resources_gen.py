# Made by npm run generate from openapi.yaml and clients/operations.ts.
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from ._operations_gen import OPERATIONS

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

    from ._async_call import AsyncCall
    from ._call import Call
    from ._options import CallOptions
    from ._pages import AsyncPages, Pages
    from ._types_gen import (
        Account,
        AccountChanges,
        AccountUsage,
        AggregateEventsQuery,
        ApiKey,
        ApiKeyRotation,
        AuditEntry,
        Balance,
        Balances,
        Caller,
        Contract,
        ContractCancellation,
        ContractChanges,
        ContractLine,
        ContractLineChanges,
        ContractSummary,
        Customer,
        CustomerChanges,
        DailyBalances,
        EventAggregate,
        EventChanges,
        EventCorrectionBatch,
        EventCorrectionBatchTaken,
        EventRevision,
        GetAccountBalanceQuery,
        GetAccountDailyBalanceQuery,
        GetAccountDailyUsageQuery,
        GetAccountMonthlyUsageQuery,
        GetAccountUsageQuery,
        GetMonthlyUsageQuery,
        GetUsageQuery,
        Grant,
        GroupedUsage,
        InvoicePreview,
        InvoiceSummary,
        IssuedApiKey,
        ListAccountsQuery,
        ListApiKeysQuery,
        ListAuditTrailQuery,
        ListBalancesQuery,
        ListContractLinesQuery,
        ListContractsQuery,
        ListCurrenciesQuery,
        ListCustomersQuery,
        ListEventRevisionsQuery,
        ListEventsQuery,
        ListGrantsQuery,
        ListInvoicePreviewsQuery,
        ListMetricsQuery,
        ListPricesQuery,
        ListProductsQuery,
        ListRateCardsQuery,
        ListRatesQuery,
        ListRefillConfigurationsQuery,
        ListRefillsQuery,
        Metric,
        MetricChanges,
        NewAccount,
        NewApiKey,
        NewContract,
        NewCustomer,
        NewGrant,
        NewInvoicePreview,
        NewMetric,
        NewPrice,
        NewProduct,
        NewRateCard,
        NewRefillConfiguration,
        NewSimulation,
        NewUsageEvent,
        PeriodUsage,
        Price,
        PriceChanges,
        Product,
        ProductChanges,
        Rate,
        RateCard,
        RateCardChange,
        RateCardChanges,
        RateCardInList,
        Refill,
        RefillConfiguration,
        RefillConfigurationChanges,
        ReportedCurrency,
        RotatedApiKey,
        Simulation,
        TestClock,
        TestClockAdvance,
        TestClockTime,
        TestDrain,
        TestDrained,
        TestReset,
        TestSeed,
        TestWorld,
        UsageEvent,
        UsageEventBatch,
        UsageEventBatchTaken,
    )


class HealthResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def get(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Check that the service answers. `GET /v2/health`

        No key is needed.
        """
        return cast("str", self._call.one(OPERATIONS["getHealth"], (), None, None, options))


class DocumentationResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def open_api(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Get this document. `GET /openapi.yaml`

        No key is needed.
        """
        return cast("str", self._call.one(OPERATIONS["getOpenApi"], (), None, None, options))

    def page(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Read this document as a web page, and try every operation. `GET /docs`

        No key is needed.
        """
        return cast("str", self._call.one(OPERATIONS["getDocs"], (), None, None, options))


class CustomersResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListCustomersQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Customer]:
        """List customers. `GET /v2/customers`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listCustomers"], (), query, options)

    def create(
        self,
        body: NewCustomer,
        **options: Unpack[CallOptions],
    ) -> Customer:
        """Create a customer. `POST /v2/customers`

        Needs `write:all`.
        """
        return cast("Customer", self._call.one(OPERATIONS["createCustomer"], (), None, body, options))

    def get(
        self,
        customer_id: str,
        **options: Unpack[CallOptions],
    ) -> Customer:
        """Get a customer. `GET /v2/customers/{customer_id}`

        Needs `read:all`.
        """
        return cast("Customer", self._call.one(OPERATIONS["getCustomer"], (customer_id,), None, None, options))

    def update(
        self,
        customer_id: str,
        body: CustomerChanges,
        **options: Unpack[CallOptions],
    ) -> Customer:
        """Change a customer. `PATCH /v2/customers/{customer_id}`

        Needs `write:all`.
        """
        return cast("Customer", self._call.one(OPERATIONS["updateCustomer"], (customer_id,), None, body, options))


class AccountsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListAccountsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Account]:
        """List accounts. `GET /v2/accounts`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listAccounts"], (), query, options)

    def create(
        self,
        body: NewAccount,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Create an account. `POST /v2/accounts`

        Needs `write:all`.
        """
        return cast("Account", self._call.one(OPERATIONS["createAccount"], (), None, body, options))

    def balances(
        self,
        query: ListBalancesQuery,
        **options: Unpack[CallOptions],
    ) -> Balances:
        """Get the balances of several accounts. `GET /v2/accounts/balances`

        Needs `read:all`.
        """
        return cast("Balances", self._call.one(OPERATIONS["listBalances"], (), query, None, options))

    def get_by_external_id(
        self,
        external_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Get the account that has an external id. `GET /v2/accounts/external-id/{external_id}`

        Needs `read:all`.
        """
        return cast("Account", self._call.one(OPERATIONS["getAccountByExternalId"], (external_id,), None, None, options))

    def get(
        self,
        account_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Get an account. `GET /v2/accounts/{account_id}`

        Needs `read:all` or `read:account`.
        """
        return cast("Account", self._call.one(OPERATIONS["getAccount"], (account_id,), None, None, options))

    def update(
        self,
        account_id: str,
        body: AccountChanges,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Change an account. `PATCH /v2/accounts/{account_id}`

        Needs `write:all`.
        """
        return cast("Account", self._call.one(OPERATIONS["updateAccount"], (account_id,), None, body, options))

    def archive(
        self,
        account_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Archive an account. `POST /v2/accounts/{account_id}/archive`

        Needs `write:all`.
        """
        return cast("Account", self._call.one(OPERATIONS["archiveAccount"], (account_id,), None, None, options))

    def unarchive(
        self,
        account_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Unarchive an account. `POST /v2/accounts/{account_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Account", self._call.one(OPERATIONS["unarchiveAccount"], (account_id,), None, None, options))

    def usage(
        self,
        account_id: str,
        query: GetAccountUsageQuery,
        **options: Unpack[CallOptions],
    ) -> AccountUsage:
        """Get the usage of an account in a time range. `GET /v2/accounts/{account_id}/usage`

        Needs `read:all` or `read:account`.
        """
        return cast("AccountUsage", self._call.one(OPERATIONS["getAccountUsage"], (account_id,), query, None, options))

    def usage_monthly(
        self,
        account_id: str,
        query: GetAccountMonthlyUsageQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> PeriodUsage:
        """Get all usage of an account by month. `GET /v2/accounts/{account_id}/usage/monthly`

        Needs `read:all` or `read:account`.
        """
        return cast("PeriodUsage", self._call.one(OPERATIONS["getAccountMonthlyUsage"], (account_id,), query, None, options))

    def usage_daily(
        self,
        account_id: str,
        query: GetAccountDailyUsageQuery,
        **options: Unpack[CallOptions],
    ) -> PeriodUsage:
        """Get the usage of an account by day. `GET /v2/accounts/{account_id}/usage/daily`

        Needs `read:all` or `read:account`.
        """
        return cast("PeriodUsage", self._call.one(OPERATIONS["getAccountDailyUsage"], (account_id,), query, None, options))

    def balance(
        self,
        account_id: str,
        query: GetAccountBalanceQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Balance:
        """Get the balance of an account in one metric or currency. `GET /v2/accounts/{account_id}/balance`

        Needs `read:all` or `read:account`.
        """
        return cast("Balance", self._call.one(OPERATIONS["getAccountBalance"], (account_id,), query, None, options))

    def balance_daily(
        self,
        account_id: str,
        query: GetAccountDailyBalanceQuery,
        **options: Unpack[CallOptions],
    ) -> DailyBalances:
        """Get the balance of an account by day. `GET /v2/accounts/{account_id}/balance/daily`

        Needs `read:all` or `read:account`.
        """
        return cast("DailyBalances", self._call.one(OPERATIONS["getAccountDailyBalance"], (account_id,), query, None, options))


class MetricsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListMetricsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Metric]:
        """List metrics. `GET /v2/metrics`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listMetrics"], (), query, options)

    def create(
        self,
        body: NewMetric,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Create a metric. `POST /v2/metrics`

        Needs `write:all`.
        """
        return cast("Metric", self._call.one(OPERATIONS["createMetric"], (), None, body, options))

    def get_by_external_id(
        self,
        external_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Get the metric that has an external id. `GET /v2/metrics/external-id/{external_id}`

        Needs `read:all`.
        """
        return cast("Metric", self._call.one(OPERATIONS["getMetricByExternalId"], (external_id,), None, None, options))

    def get(
        self,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Get a metric. `GET /v2/metrics/{metric_id}`

        Needs `read:all`.
        """
        return cast("Metric", self._call.one(OPERATIONS["getMetric"], (metric_id,), None, None, options))

    def update(
        self,
        metric_id: str,
        body: MetricChanges,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Change a metric. `PATCH /v2/metrics/{metric_id}`

        Needs `write:all`.
        """
        return cast("Metric", self._call.one(OPERATIONS["updateMetric"], (metric_id,), None, body, options))

    def archive(
        self,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Archive a metric. `POST /v2/metrics/{metric_id}/archive`

        Needs `write:all`.
        """
        return cast("Metric", self._call.one(OPERATIONS["archiveMetric"], (metric_id,), None, None, options))

    def unarchive(
        self,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Unarchive a metric. `POST /v2/metrics/{metric_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Metric", self._call.one(OPERATIONS["unarchiveMetric"], (metric_id,), None, None, options))

    def usage_monthly(
        self,
        query: GetMonthlyUsageQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> PeriodUsage:
        """Get the usage of all accounts by month. `GET /v2/metrics/usage/monthly`

        Needs `read:all`.
        """
        return cast("PeriodUsage", self._call.one(OPERATIONS["getMonthlyUsage"], (), query, None, options))


class GrantsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListGrantsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Grant]:
        """List grants. `GET /v2/grants`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listGrants"], (), query, options)

    def create(
        self,
        body: NewGrant,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Grant credit to an account. `POST /v2/grants`

        Needs `write:all`.
        """
        return cast("Grant", self._call.one(OPERATIONS["createGrant"], (), None, body, options))

    def get(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Get a grant. `GET /v2/grants/{grant_id}`

        Needs `read:all`.
        """
        return cast("Grant", self._call.one(OPERATIONS["getGrant"], (grant_id,), None, None, options))

    def void(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Void a grant. `POST /v2/grants/{grant_id}/void`

        Needs `write:all`.
        """
        return cast("Grant", self._call.one(OPERATIONS["voidGrant"], (grant_id,), None, None, options))

    def archive(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Archive a grant. `POST /v2/grants/{grant_id}/archive`

        Needs `write:all`.
        """
        return cast("Grant", self._call.one(OPERATIONS["archiveGrant"], (grant_id,), None, None, options))


class RefillConfigurationsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListRefillConfigurationsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[RefillConfiguration]:
        """List refill configurations. `GET /v2/refill-configurations`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listRefillConfigurations"], (), query, options)

    def create(
        self,
        body: NewRefillConfiguration,
        **options: Unpack[CallOptions],
    ) -> RefillConfiguration:
        """Create a refill configuration. `POST /v2/refill-configurations`

        Needs `write:all`.
        """
        return cast("RefillConfiguration", self._call.one(OPERATIONS["createRefillConfiguration"], (), None, body, options))

    def get(
        self,
        account_id: str,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> RefillConfiguration:
        """Get a refill configuration. `GET /v2/refill-configurations/{account_id}/{metric_id}`

        Needs `read:all`.
        """
        return cast("RefillConfiguration", self._call.one(OPERATIONS["getRefillConfiguration"], (account_id, metric_id), None, None, options))

    def update(
        self,
        account_id: str,
        metric_id: str,
        body: RefillConfigurationChanges,
        **options: Unpack[CallOptions],
    ) -> RefillConfiguration:
        """Change a refill configuration. `PATCH /v2/refill-configurations/{account_id}/{metric_id}`

        Needs `write:all`.
        """
        return cast("RefillConfiguration", self._call.one(OPERATIONS["updateRefillConfiguration"], (account_id, metric_id), None, body, options))

    def refills(
        self,
        account_id: str,
        metric_id: str,
        query: ListRefillsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Refill]:
        """List the refills of a configuration. `GET /v2/refill-configurations/{account_id}/{metric_id}/refills`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listRefills"], (account_id, metric_id), query, options)


class EventsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListEventsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[UsageEvent]:
        """List usage events. `GET /v2/events`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listEvents"], (), query, options)

    def report(
        self,
        body: NewUsageEvent,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Report one usage event. `POST /v2/events`

        Needs `write:all`.
        """
        return cast("UsageEvent", self._call.one(OPERATIONS["reportEvent"], (), None, body, options))

    def aggregate(
        self,
        query: AggregateEventsQuery,
        **options: Unpack[CallOptions],
    ) -> EventAggregate:
        """Get the usage that has a property. `GET /v2/events/aggregate`

        Needs `read:all`.
        """
        return cast("EventAggregate", self._call.one(OPERATIONS["aggregateEvents"], (), query, None, options))

    def report_many(
        self,
        body: UsageEventBatch,
        **options: Unpack[CallOptions],
    ) -> UsageEventBatchTaken:
        """Report up to 1,000 usage events. `POST /v2/events/batch`

        Needs `write:all`.
        """
        return cast("UsageEventBatchTaken", self._call.one(OPERATIONS["reportEvents"], (), None, body, options))

    def correct_many(
        self,
        body: EventCorrectionBatch,
        **options: Unpack[CallOptions],
    ) -> EventCorrectionBatchTaken:
        """Correct up to 1,000 usage events. `POST /v2/events/corrections`

        Needs `write:all`.
        """
        return cast("EventCorrectionBatchTaken", self._call.one(OPERATIONS["correctEvents"], (), None, body, options))

    def get(
        self,
        event_id: str,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Get a usage event. `GET /v2/events/{event_id}`

        Needs `read:all`.
        """
        return cast("UsageEvent", self._call.one(OPERATIONS["getEvent"], (event_id,), None, None, options))

    def correct(
        self,
        event_id: str,
        body: EventChanges,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Correct a usage event. `PATCH /v2/events/{event_id}`

        Needs `write:all`.
        """
        return cast("UsageEvent", self._call.one(OPERATIONS["correctEvent"], (event_id,), None, body, options))

    def void(
        self,
        event_id: str,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Void a usage event. `POST /v2/events/{event_id}/void`

        Needs `write:all`.
        """
        return cast("UsageEvent", self._call.one(OPERATIONS["voidEvent"], (event_id,), None, None, options))

    def revisions(
        self,
        event_id: str,
        query: ListEventRevisionsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[EventRevision]:
        """List the revisions of a usage event. `GET /v2/events/{event_id}/revisions`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listEventRevisions"], (event_id,), query, options)


class UsageResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def get(
        self,
        query: GetUsageQuery,
        **options: Unpack[CallOptions],
    ) -> GroupedUsage:
        """Get usage by period, account or property. `GET /v2/usage`

        Needs `read:all` or `read:account`.
        """
        return cast("GroupedUsage", self._call.one(OPERATIONS["getUsage"], (), query, None, options))


class CurrenciesResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListCurrenciesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[ReportedCurrency]:
        """List the currencies in use. `GET /v2/currencies`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listCurrencies"], (), query, options)


class ProductsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListProductsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Product]:
        """List products. `GET /v2/products`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listProducts"], (), query, options)

    def create(
        self,
        body: NewProduct,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Create a product. `POST /v2/products`

        Needs `write:all`.
        """
        return cast("Product", self._call.one(OPERATIONS["createProduct"], (), None, body, options))

    def get(
        self,
        product_id: str,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Get a product. `GET /v2/products/{product_id}`

        Needs `read:all`.
        """
        return cast("Product", self._call.one(OPERATIONS["getProduct"], (product_id,), None, None, options))

    def update(
        self,
        product_id: str,
        body: ProductChanges,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Change a product. `PATCH /v2/products/{product_id}`

        Needs `write:all`.
        """
        return cast("Product", self._call.one(OPERATIONS["updateProduct"], (product_id,), None, body, options))

    def archive(
        self,
        product_id: str,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Archive a product. `POST /v2/products/{product_id}/archive`

        Needs `write:all`.
        """
        return cast("Product", self._call.one(OPERATIONS["archiveProduct"], (product_id,), None, None, options))

    def unarchive(
        self,
        product_id: str,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Unarchive a product. `POST /v2/products/{product_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Product", self._call.one(OPERATIONS["unarchiveProduct"], (product_id,), None, None, options))


class PricesResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListPricesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Price]:
        """List prices. `GET /v2/prices`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listPrices"], (), query, options)

    def create(
        self,
        body: NewPrice,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Create a price. `POST /v2/prices`

        Needs `write:all`.
        """
        return cast("Price", self._call.one(OPERATIONS["createPrice"], (), None, body, options))

    def get(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Get a price. `GET /v2/prices/{price_id}`

        Needs `read:all`.
        """
        return cast("Price", self._call.one(OPERATIONS["getPrice"], (price_id,), None, None, options))

    def update(
        self,
        price_id: str,
        body: PriceChanges,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Change a price. `PATCH /v2/prices/{price_id}`

        Needs `write:all`.
        """
        return cast("Price", self._call.one(OPERATIONS["updatePrice"], (price_id,), None, body, options))

    def archive(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Archive a price. `POST /v2/prices/{price_id}/archive`

        Needs `write:all`.
        """
        return cast("Price", self._call.one(OPERATIONS["archivePrice"], (price_id,), None, None, options))

    def unarchive(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Unarchive a price. `POST /v2/prices/{price_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Price", self._call.one(OPERATIONS["unarchivePrice"], (price_id,), None, None, options))


class RateCardsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListRateCardsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[RateCardInList]:
        """List rate cards. `GET /v2/rate-cards`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listRateCards"], (), query, options)

    def create(
        self,
        body: NewRateCard,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Create a rate card. `POST /v2/rate-cards`

        Needs `write:all`.
        """
        return cast("RateCard", self._call.one(OPERATIONS["createRateCard"], (), None, body, options))

    def get(
        self,
        rate_card_id: str,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Get a rate card. `GET /v2/rate-cards/{rate_card_id}`

        Needs `read:all`.
        """
        return cast("RateCard", self._call.one(OPERATIONS["getRateCard"], (rate_card_id,), None, None, options))

    def update(
        self,
        rate_card_id: str,
        body: RateCardChanges,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Change a rate card. `PATCH /v2/rate-cards/{rate_card_id}`

        Needs `write:all`.
        """
        return cast("RateCard", self._call.one(OPERATIONS["updateRateCard"], (rate_card_id,), None, body, options))

    def archive(
        self,
        rate_card_id: str,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Archive a rate card. `POST /v2/rate-cards/{rate_card_id}/archive`

        Needs `write:all`.
        """
        return cast("RateCard", self._call.one(OPERATIONS["archiveRateCard"], (rate_card_id,), None, None, options))

    def unarchive(
        self,
        rate_card_id: str,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Unarchive a rate card. `POST /v2/rate-cards/{rate_card_id}/unarchive`

        Needs `write:all`.
        """
        return cast("RateCard", self._call.one(OPERATIONS["unarchiveRateCard"], (rate_card_id,), None, None, options))

    def rates(
        self,
        rate_card_id: str,
        query: ListRatesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[Rate]:
        """List the rates of a rate card. `GET /v2/rate-cards/{rate_card_id}/rates`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listRates"], (rate_card_id,), query, options)

    def change(
        self,
        rate_card_id: str,
        body: RateCardChange,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """End and add rates of a rate card. `POST /v2/rate-cards/{rate_card_id}/changes`

        Needs `write:all`.
        """
        return cast("RateCard", self._call.one(OPERATIONS["changeRateCard"], (rate_card_id,), None, body, options))

    def simulate(
        self,
        rate_card_id: str,
        body: NewSimulation,
        **options: Unpack[CallOptions],
    ) -> Simulation:
        """Simulate what accounts would pay by a rate card. `POST /v2/rate-cards/{rate_card_id}/simulate`

        Needs `read:all`.
        """
        return cast("Simulation", self._call.one(OPERATIONS["simulateRateCard"], (rate_card_id,), None, body, options))


class ContractsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListContractsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[ContractSummary]:
        """List contracts. `GET /v2/contracts`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listContracts"], (), query, options)

    def create(
        self,
        body: NewContract,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Create a contract. `POST /v2/contracts`

        Needs `write:all`.
        """
        return cast("Contract", self._call.one(OPERATIONS["createContract"], (), None, body, options))

    def get(
        self,
        contract_id: str,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Get a contract. `GET /v2/contracts/{contract_id}`

        Needs `read:all`.
        """
        return cast("Contract", self._call.one(OPERATIONS["getContract"], (contract_id,), None, None, options))

    def update(
        self,
        contract_id: str,
        body: ContractChanges,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Change a contract, or let it end later. `PATCH /v2/contracts/{contract_id}`

        Needs `write:all`.
        """
        return cast("Contract", self._call.one(OPERATIONS["updateContract"], (contract_id,), None, body, options))

    def lines(
        self,
        contract_id: str,
        query: ListContractLinesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[ContractLine]:
        """List the lines of a contract. `GET /v2/contracts/{contract_id}/lines`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listContractLines"], (contract_id,), query, options)

    def change(
        self,
        contract_id: str,
        body: ContractLineChanges,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """End lines of a contract, and add others. `POST /v2/contracts/{contract_id}/changes`

        Needs `write:all`.
        """
        return cast("Contract", self._call.one(OPERATIONS["changeContract"], (contract_id,), None, body, options))

    def cancel(
        self,
        contract_id: str,
        body: ContractCancellation,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Cancel a contract. `POST /v2/contracts/{contract_id}/cancel`

        Needs `write:all`.
        """
        return cast("Contract", self._call.one(OPERATIONS["cancelContract"], (contract_id,), None, body, options))

    def uncancel(
        self,
        contract_id: str,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Undo the cancellation of a contract. `POST /v2/contracts/{contract_id}/uncancel`

        Needs `write:all`.
        """
        return cast("Contract", self._call.one(OPERATIONS["uncancelContract"], (contract_id,), None, None, options))


class InvoicePreviewsResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def preview(
        self,
        body: NewInvoicePreview,
        **options: Unpack[CallOptions],
    ) -> InvoicePreview:
        """Preview the invoice of a period of a contract. `POST /v2/invoice-previews`

        Needs `read:all`.
        """
        return cast("InvoicePreview", self._call.one(OPERATIONS["previewInvoice"], (), None, body, options))

    def list(
        self,
        query: ListInvoicePreviewsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[InvoiceSummary]:
        """Preview the invoices of a period of all contracts. `GET /v2/invoice-previews`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listInvoicePreviews"], (), query, options)


class CallerResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def get(
        self,
        **options: Unpack[CallOptions],
    ) -> Caller:
        """Get the company of this key, and its permissions. `GET /v2/caller`

        Needs `read:all` or `write:all` or `manage:keys` or `read:account`.
        """
        return cast("Caller", self._call.one(OPERATIONS["getCaller"], (), None, None, options))


class ApiKeysResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListApiKeysQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[ApiKey]:
        """List API keys. `GET /v2/api-keys`

        Needs `manage:keys`.
        """
        return self._call.pages(OPERATIONS["listApiKeys"], (), query, options)

    def create(
        self,
        body: NewApiKey,
        **options: Unpack[CallOptions],
    ) -> IssuedApiKey:
        """Issue an API key. `POST /v2/api-keys`

        Needs `manage:keys`.
        """
        return cast("IssuedApiKey", self._call.one(OPERATIONS["createApiKey"], (), None, body, options))

    def get(
        self,
        api_key_id: str,
        **options: Unpack[CallOptions],
    ) -> ApiKey:
        """Get an API key. `GET /v2/api-keys/{api_key_id}`

        Needs `manage:keys`.
        """
        return cast("ApiKey", self._call.one(OPERATIONS["getApiKey"], (api_key_id,), None, None, options))

    def rotate(
        self,
        api_key_id: str,
        body: ApiKeyRotation,
        **options: Unpack[CallOptions],
    ) -> RotatedApiKey:
        """Rotate an API key. `POST /v2/api-keys/{api_key_id}/rotate`

        Needs `manage:keys`.
        """
        return cast("RotatedApiKey", self._call.one(OPERATIONS["rotateApiKey"], (api_key_id,), None, body, options))

    def revoke(
        self,
        api_key_id: str,
        **options: Unpack[CallOptions],
    ) -> ApiKey:
        """Revoke an API key. `POST /v2/api-keys/{api_key_id}/revoke`

        Needs `manage:keys`.
        """
        return cast("ApiKey", self._call.one(OPERATIONS["revokeApiKey"], (api_key_id,), None, None, options))


class AuditTrailResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def list(
        self,
        query: ListAuditTrailQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[AuditEntry]:
        """List changes, and who made them. `GET /v2/audit-trail`

        Needs `manage:keys`.
        """
        return self._call.pages(OPERATIONS["listAuditTrail"], (), query, options)


class TestClockResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def get(
        self,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Get the company's time. `GET /v2/test/clock`

        Needs `read:all`.
        """
        return cast("TestClock", self._call.one(OPERATIONS["getTestClock"], (), None, None, options))

    def set(
        self,
        body: TestClockTime,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Set the company's clock forward. `PUT /v2/test/clock`

        Needs `write:all`.
        """
        return cast("TestClock", self._call.one(OPERATIONS["setTestClock"], (), None, body, options))

    def reset(
        self,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Return the company's clock to real time. `DELETE /v2/test/clock`

        Needs `write:all`.
        """
        return cast("TestClock", self._call.one(OPERATIONS["resetTestClock"], (), None, None, options))

    def advance(
        self,
        body: TestClockAdvance,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Move the company's clock ahead. `POST /v2/test/clock/advance`

        Needs `write:all`.
        """
        return cast("TestClock", self._call.one(OPERATIONS["advanceTestClock"], (), None, body, options))


class TestAreaResource:
    def __init__(self, call: Call) -> None:
        self._call = call

    def reset(
        self,
        **options: Unpack[CallOptions],
    ) -> TestReset:
        """Reset the company to an empty one. `POST /v2/test/reset`

        Needs `write:all`.
        """
        return cast("TestReset", self._call.one(OPERATIONS["resetTestCompany"], (), None, None, options))

    def seed(
        self,
        body: TestSeed | None = None,
        **options: Unpack[CallOptions],
    ) -> TestWorld:
        """Make seed data. `POST /v2/test/seed`

        Needs `write:all`.
        """
        return cast("TestWorld", self._call.one(OPERATIONS["seedTestCompany"], (), None, body, options))

    def drain(
        self,
        body: TestDrain | None = None,
        **options: Unpack[CallOptions],
    ) -> TestDrained:
        """Wait until everything is counted. `POST /v2/test/drain`

        Needs `write:all`.
        """
        return cast("TestDrained", self._call.one(OPERATIONS["drainTestCompany"], (), None, body, options))


class Resources:
    """The methods of a client, by resource."""

    def __init__(self, call: Call) -> None:
        self.health = HealthResource(call)
        self.documentation = DocumentationResource(call)
        self.customers = CustomersResource(call)
        self.accounts = AccountsResource(call)
        self.metrics = MetricsResource(call)
        self.grants = GrantsResource(call)
        self.refill_configurations = RefillConfigurationsResource(call)
        self.events = EventsResource(call)
        self.usage = UsageResource(call)
        self.currencies = CurrenciesResource(call)
        self.products = ProductsResource(call)
        self.prices = PricesResource(call)
        self.rate_cards = RateCardsResource(call)
        self.contracts = ContractsResource(call)
        self.invoice_previews = InvoicePreviewsResource(call)
        self.caller = CallerResource(call)
        self.api_keys = ApiKeysResource(call)
        self.audit_trail = AuditTrailResource(call)
        self.test_clock = TestClockResource(call)
        self.test_area = TestAreaResource(call)


class AsyncHealthResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def get(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Check that the service answers. `GET /v2/health`

        No key is needed.
        """
        return cast("str", await self._call.one(OPERATIONS["getHealth"], (), None, None, options))


class AsyncDocumentationResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def open_api(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Get this document. `GET /openapi.yaml`

        No key is needed.
        """
        return cast("str", await self._call.one(OPERATIONS["getOpenApi"], (), None, None, options))

    async def page(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Read this document as a web page, and try every operation. `GET /docs`

        No key is needed.
        """
        return cast("str", await self._call.one(OPERATIONS["getDocs"], (), None, None, options))


class AsyncCustomersResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListCustomersQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Customer]:
        """List customers. `GET /v2/customers`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listCustomers"], (), query, options)

    async def create(
        self,
        body: NewCustomer,
        **options: Unpack[CallOptions],
    ) -> Customer:
        """Create a customer. `POST /v2/customers`

        Needs `write:all`.
        """
        return cast("Customer", await self._call.one(OPERATIONS["createCustomer"], (), None, body, options))

    async def get(
        self,
        customer_id: str,
        **options: Unpack[CallOptions],
    ) -> Customer:
        """Get a customer. `GET /v2/customers/{customer_id}`

        Needs `read:all`.
        """
        return cast("Customer", await self._call.one(OPERATIONS["getCustomer"], (customer_id,), None, None, options))

    async def update(
        self,
        customer_id: str,
        body: CustomerChanges,
        **options: Unpack[CallOptions],
    ) -> Customer:
        """Change a customer. `PATCH /v2/customers/{customer_id}`

        Needs `write:all`.
        """
        return cast("Customer", await self._call.one(OPERATIONS["updateCustomer"], (customer_id,), None, body, options))


class AsyncAccountsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListAccountsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Account]:
        """List accounts. `GET /v2/accounts`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listAccounts"], (), query, options)

    async def create(
        self,
        body: NewAccount,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Create an account. `POST /v2/accounts`

        Needs `write:all`.
        """
        return cast("Account", await self._call.one(OPERATIONS["createAccount"], (), None, body, options))

    async def balances(
        self,
        query: ListBalancesQuery,
        **options: Unpack[CallOptions],
    ) -> Balances:
        """Get the balances of several accounts. `GET /v2/accounts/balances`

        Needs `read:all`.
        """
        return cast("Balances", await self._call.one(OPERATIONS["listBalances"], (), query, None, options))

    async def get_by_external_id(
        self,
        external_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Get the account that has an external id. `GET /v2/accounts/external-id/{external_id}`

        Needs `read:all`.
        """
        return cast("Account", await self._call.one(OPERATIONS["getAccountByExternalId"], (external_id,), None, None, options))

    async def get(
        self,
        account_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Get an account. `GET /v2/accounts/{account_id}`

        Needs `read:all` or `read:account`.
        """
        return cast("Account", await self._call.one(OPERATIONS["getAccount"], (account_id,), None, None, options))

    async def update(
        self,
        account_id: str,
        body: AccountChanges,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Change an account. `PATCH /v2/accounts/{account_id}`

        Needs `write:all`.
        """
        return cast("Account", await self._call.one(OPERATIONS["updateAccount"], (account_id,), None, body, options))

    async def archive(
        self,
        account_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Archive an account. `POST /v2/accounts/{account_id}/archive`

        Needs `write:all`.
        """
        return cast("Account", await self._call.one(OPERATIONS["archiveAccount"], (account_id,), None, None, options))

    async def unarchive(
        self,
        account_id: str,
        **options: Unpack[CallOptions],
    ) -> Account:
        """Unarchive an account. `POST /v2/accounts/{account_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Account", await self._call.one(OPERATIONS["unarchiveAccount"], (account_id,), None, None, options))

    async def usage(
        self,
        account_id: str,
        query: GetAccountUsageQuery,
        **options: Unpack[CallOptions],
    ) -> AccountUsage:
        """Get the usage of an account in a time range. `GET /v2/accounts/{account_id}/usage`

        Needs `read:all` or `read:account`.
        """
        return cast("AccountUsage", await self._call.one(OPERATIONS["getAccountUsage"], (account_id,), query, None, options))

    async def usage_monthly(
        self,
        account_id: str,
        query: GetAccountMonthlyUsageQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> PeriodUsage:
        """Get all usage of an account by month. `GET /v2/accounts/{account_id}/usage/monthly`

        Needs `read:all` or `read:account`.
        """
        return cast("PeriodUsage", await self._call.one(OPERATIONS["getAccountMonthlyUsage"], (account_id,), query, None, options))

    async def usage_daily(
        self,
        account_id: str,
        query: GetAccountDailyUsageQuery,
        **options: Unpack[CallOptions],
    ) -> PeriodUsage:
        """Get the usage of an account by day. `GET /v2/accounts/{account_id}/usage/daily`

        Needs `read:all` or `read:account`.
        """
        return cast("PeriodUsage", await self._call.one(OPERATIONS["getAccountDailyUsage"], (account_id,), query, None, options))

    async def balance(
        self,
        account_id: str,
        query: GetAccountBalanceQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> Balance:
        """Get the balance of an account in one metric or currency. `GET /v2/accounts/{account_id}/balance`

        Needs `read:all` or `read:account`.
        """
        return cast("Balance", await self._call.one(OPERATIONS["getAccountBalance"], (account_id,), query, None, options))

    async def balance_daily(
        self,
        account_id: str,
        query: GetAccountDailyBalanceQuery,
        **options: Unpack[CallOptions],
    ) -> DailyBalances:
        """Get the balance of an account by day. `GET /v2/accounts/{account_id}/balance/daily`

        Needs `read:all` or `read:account`.
        """
        return cast("DailyBalances", await self._call.one(OPERATIONS["getAccountDailyBalance"], (account_id,), query, None, options))


class AsyncMetricsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListMetricsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Metric]:
        """List metrics. `GET /v2/metrics`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listMetrics"], (), query, options)

    async def create(
        self,
        body: NewMetric,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Create a metric. `POST /v2/metrics`

        Needs `write:all`.
        """
        return cast("Metric", await self._call.one(OPERATIONS["createMetric"], (), None, body, options))

    async def get_by_external_id(
        self,
        external_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Get the metric that has an external id. `GET /v2/metrics/external-id/{external_id}`

        Needs `read:all`.
        """
        return cast("Metric", await self._call.one(OPERATIONS["getMetricByExternalId"], (external_id,), None, None, options))

    async def get(
        self,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Get a metric. `GET /v2/metrics/{metric_id}`

        Needs `read:all`.
        """
        return cast("Metric", await self._call.one(OPERATIONS["getMetric"], (metric_id,), None, None, options))

    async def update(
        self,
        metric_id: str,
        body: MetricChanges,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Change a metric. `PATCH /v2/metrics/{metric_id}`

        Needs `write:all`.
        """
        return cast("Metric", await self._call.one(OPERATIONS["updateMetric"], (metric_id,), None, body, options))

    async def archive(
        self,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Archive a metric. `POST /v2/metrics/{metric_id}/archive`

        Needs `write:all`.
        """
        return cast("Metric", await self._call.one(OPERATIONS["archiveMetric"], (metric_id,), None, None, options))

    async def unarchive(
        self,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> Metric:
        """Unarchive a metric. `POST /v2/metrics/{metric_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Metric", await self._call.one(OPERATIONS["unarchiveMetric"], (metric_id,), None, None, options))

    async def usage_monthly(
        self,
        query: GetMonthlyUsageQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> PeriodUsage:
        """Get the usage of all accounts by month. `GET /v2/metrics/usage/monthly`

        Needs `read:all`.
        """
        return cast("PeriodUsage", await self._call.one(OPERATIONS["getMonthlyUsage"], (), query, None, options))


class AsyncGrantsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListGrantsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Grant]:
        """List grants. `GET /v2/grants`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listGrants"], (), query, options)

    async def create(
        self,
        body: NewGrant,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Grant credit to an account. `POST /v2/grants`

        Needs `write:all`.
        """
        return cast("Grant", await self._call.one(OPERATIONS["createGrant"], (), None, body, options))

    async def get(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Get a grant. `GET /v2/grants/{grant_id}`

        Needs `read:all`.
        """
        return cast("Grant", await self._call.one(OPERATIONS["getGrant"], (grant_id,), None, None, options))

    async def void(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Void a grant. `POST /v2/grants/{grant_id}/void`

        Needs `write:all`.
        """
        return cast("Grant", await self._call.one(OPERATIONS["voidGrant"], (grant_id,), None, None, options))

    async def archive(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> Grant:
        """Archive a grant. `POST /v2/grants/{grant_id}/archive`

        Needs `write:all`.
        """
        return cast("Grant", await self._call.one(OPERATIONS["archiveGrant"], (grant_id,), None, None, options))


class AsyncRefillConfigurationsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListRefillConfigurationsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[RefillConfiguration]:
        """List refill configurations. `GET /v2/refill-configurations`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listRefillConfigurations"], (), query, options)

    async def create(
        self,
        body: NewRefillConfiguration,
        **options: Unpack[CallOptions],
    ) -> RefillConfiguration:
        """Create a refill configuration. `POST /v2/refill-configurations`

        Needs `write:all`.
        """
        return cast("RefillConfiguration", await self._call.one(OPERATIONS["createRefillConfiguration"], (), None, body, options))

    async def get(
        self,
        account_id: str,
        metric_id: str,
        **options: Unpack[CallOptions],
    ) -> RefillConfiguration:
        """Get a refill configuration. `GET /v2/refill-configurations/{account_id}/{metric_id}`

        Needs `read:all`.
        """
        return cast("RefillConfiguration", await self._call.one(OPERATIONS["getRefillConfiguration"], (account_id, metric_id), None, None, options))

    async def update(
        self,
        account_id: str,
        metric_id: str,
        body: RefillConfigurationChanges,
        **options: Unpack[CallOptions],
    ) -> RefillConfiguration:
        """Change a refill configuration. `PATCH /v2/refill-configurations/{account_id}/{metric_id}`

        Needs `write:all`.
        """
        return cast("RefillConfiguration", await self._call.one(OPERATIONS["updateRefillConfiguration"], (account_id, metric_id), None, body, options))

    def refills(
        self,
        account_id: str,
        metric_id: str,
        query: ListRefillsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Refill]:
        """List the refills of a configuration. `GET /v2/refill-configurations/{account_id}/{metric_id}/refills`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listRefills"], (account_id, metric_id), query, options)


class AsyncEventsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListEventsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[UsageEvent]:
        """List usage events. `GET /v2/events`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listEvents"], (), query, options)

    async def report(
        self,
        body: NewUsageEvent,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Report one usage event. `POST /v2/events`

        Needs `write:all`.
        """
        return cast("UsageEvent", await self._call.one(OPERATIONS["reportEvent"], (), None, body, options))

    async def aggregate(
        self,
        query: AggregateEventsQuery,
        **options: Unpack[CallOptions],
    ) -> EventAggregate:
        """Get the usage that has a property. `GET /v2/events/aggregate`

        Needs `read:all`.
        """
        return cast("EventAggregate", await self._call.one(OPERATIONS["aggregateEvents"], (), query, None, options))

    async def report_many(
        self,
        body: UsageEventBatch,
        **options: Unpack[CallOptions],
    ) -> UsageEventBatchTaken:
        """Report up to 1,000 usage events. `POST /v2/events/batch`

        Needs `write:all`.
        """
        return cast("UsageEventBatchTaken", await self._call.one(OPERATIONS["reportEvents"], (), None, body, options))

    async def correct_many(
        self,
        body: EventCorrectionBatch,
        **options: Unpack[CallOptions],
    ) -> EventCorrectionBatchTaken:
        """Correct up to 1,000 usage events. `POST /v2/events/corrections`

        Needs `write:all`.
        """
        return cast("EventCorrectionBatchTaken", await self._call.one(OPERATIONS["correctEvents"], (), None, body, options))

    async def get(
        self,
        event_id: str,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Get a usage event. `GET /v2/events/{event_id}`

        Needs `read:all`.
        """
        return cast("UsageEvent", await self._call.one(OPERATIONS["getEvent"], (event_id,), None, None, options))

    async def correct(
        self,
        event_id: str,
        body: EventChanges,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Correct a usage event. `PATCH /v2/events/{event_id}`

        Needs `write:all`.
        """
        return cast("UsageEvent", await self._call.one(OPERATIONS["correctEvent"], (event_id,), None, body, options))

    async def void(
        self,
        event_id: str,
        **options: Unpack[CallOptions],
    ) -> UsageEvent:
        """Void a usage event. `POST /v2/events/{event_id}/void`

        Needs `write:all`.
        """
        return cast("UsageEvent", await self._call.one(OPERATIONS["voidEvent"], (event_id,), None, None, options))

    def revisions(
        self,
        event_id: str,
        query: ListEventRevisionsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[EventRevision]:
        """List the revisions of a usage event. `GET /v2/events/{event_id}/revisions`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listEventRevisions"], (event_id,), query, options)


class AsyncUsageResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def get(
        self,
        query: GetUsageQuery,
        **options: Unpack[CallOptions],
    ) -> GroupedUsage:
        """Get usage by period, account or property. `GET /v2/usage`

        Needs `read:all` or `read:account`.
        """
        return cast("GroupedUsage", await self._call.one(OPERATIONS["getUsage"], (), query, None, options))


class AsyncCurrenciesResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListCurrenciesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[ReportedCurrency]:
        """List the currencies in use. `GET /v2/currencies`

        Needs `read:all` or `read:account`.
        """
        return self._call.pages(OPERATIONS["listCurrencies"], (), query, options)


class AsyncProductsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListProductsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Product]:
        """List products. `GET /v2/products`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listProducts"], (), query, options)

    async def create(
        self,
        body: NewProduct,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Create a product. `POST /v2/products`

        Needs `write:all`.
        """
        return cast("Product", await self._call.one(OPERATIONS["createProduct"], (), None, body, options))

    async def get(
        self,
        product_id: str,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Get a product. `GET /v2/products/{product_id}`

        Needs `read:all`.
        """
        return cast("Product", await self._call.one(OPERATIONS["getProduct"], (product_id,), None, None, options))

    async def update(
        self,
        product_id: str,
        body: ProductChanges,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Change a product. `PATCH /v2/products/{product_id}`

        Needs `write:all`.
        """
        return cast("Product", await self._call.one(OPERATIONS["updateProduct"], (product_id,), None, body, options))

    async def archive(
        self,
        product_id: str,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Archive a product. `POST /v2/products/{product_id}/archive`

        Needs `write:all`.
        """
        return cast("Product", await self._call.one(OPERATIONS["archiveProduct"], (product_id,), None, None, options))

    async def unarchive(
        self,
        product_id: str,
        **options: Unpack[CallOptions],
    ) -> Product:
        """Unarchive a product. `POST /v2/products/{product_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Product", await self._call.one(OPERATIONS["unarchiveProduct"], (product_id,), None, None, options))


class AsyncPricesResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListPricesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Price]:
        """List prices. `GET /v2/prices`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listPrices"], (), query, options)

    async def create(
        self,
        body: NewPrice,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Create a price. `POST /v2/prices`

        Needs `write:all`.
        """
        return cast("Price", await self._call.one(OPERATIONS["createPrice"], (), None, body, options))

    async def get(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Get a price. `GET /v2/prices/{price_id}`

        Needs `read:all`.
        """
        return cast("Price", await self._call.one(OPERATIONS["getPrice"], (price_id,), None, None, options))

    async def update(
        self,
        price_id: str,
        body: PriceChanges,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Change a price. `PATCH /v2/prices/{price_id}`

        Needs `write:all`.
        """
        return cast("Price", await self._call.one(OPERATIONS["updatePrice"], (price_id,), None, body, options))

    async def archive(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Archive a price. `POST /v2/prices/{price_id}/archive`

        Needs `write:all`.
        """
        return cast("Price", await self._call.one(OPERATIONS["archivePrice"], (price_id,), None, None, options))

    async def unarchive(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> Price:
        """Unarchive a price. `POST /v2/prices/{price_id}/unarchive`

        Needs `write:all`.
        """
        return cast("Price", await self._call.one(OPERATIONS["unarchivePrice"], (price_id,), None, None, options))


class AsyncRateCardsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListRateCardsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[RateCardInList]:
        """List rate cards. `GET /v2/rate-cards`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listRateCards"], (), query, options)

    async def create(
        self,
        body: NewRateCard,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Create a rate card. `POST /v2/rate-cards`

        Needs `write:all`.
        """
        return cast("RateCard", await self._call.one(OPERATIONS["createRateCard"], (), None, body, options))

    async def get(
        self,
        rate_card_id: str,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Get a rate card. `GET /v2/rate-cards/{rate_card_id}`

        Needs `read:all`.
        """
        return cast("RateCard", await self._call.one(OPERATIONS["getRateCard"], (rate_card_id,), None, None, options))

    async def update(
        self,
        rate_card_id: str,
        body: RateCardChanges,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Change a rate card. `PATCH /v2/rate-cards/{rate_card_id}`

        Needs `write:all`.
        """
        return cast("RateCard", await self._call.one(OPERATIONS["updateRateCard"], (rate_card_id,), None, body, options))

    async def archive(
        self,
        rate_card_id: str,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Archive a rate card. `POST /v2/rate-cards/{rate_card_id}/archive`

        Needs `write:all`.
        """
        return cast("RateCard", await self._call.one(OPERATIONS["archiveRateCard"], (rate_card_id,), None, None, options))

    async def unarchive(
        self,
        rate_card_id: str,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """Unarchive a rate card. `POST /v2/rate-cards/{rate_card_id}/unarchive`

        Needs `write:all`.
        """
        return cast("RateCard", await self._call.one(OPERATIONS["unarchiveRateCard"], (rate_card_id,), None, None, options))

    def rates(
        self,
        rate_card_id: str,
        query: ListRatesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[Rate]:
        """List the rates of a rate card. `GET /v2/rate-cards/{rate_card_id}/rates`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listRates"], (rate_card_id,), query, options)

    async def change(
        self,
        rate_card_id: str,
        body: RateCardChange,
        **options: Unpack[CallOptions],
    ) -> RateCard:
        """End and add rates of a rate card. `POST /v2/rate-cards/{rate_card_id}/changes`

        Needs `write:all`.
        """
        return cast("RateCard", await self._call.one(OPERATIONS["changeRateCard"], (rate_card_id,), None, body, options))

    async def simulate(
        self,
        rate_card_id: str,
        body: NewSimulation,
        **options: Unpack[CallOptions],
    ) -> Simulation:
        """Simulate what accounts would pay by a rate card. `POST /v2/rate-cards/{rate_card_id}/simulate`

        Needs `read:all`.
        """
        return cast("Simulation", await self._call.one(OPERATIONS["simulateRateCard"], (rate_card_id,), None, body, options))


class AsyncContractsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListContractsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[ContractSummary]:
        """List contracts. `GET /v2/contracts`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listContracts"], (), query, options)

    async def create(
        self,
        body: NewContract,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Create a contract. `POST /v2/contracts`

        Needs `write:all`.
        """
        return cast("Contract", await self._call.one(OPERATIONS["createContract"], (), None, body, options))

    async def get(
        self,
        contract_id: str,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Get a contract. `GET /v2/contracts/{contract_id}`

        Needs `read:all`.
        """
        return cast("Contract", await self._call.one(OPERATIONS["getContract"], (contract_id,), None, None, options))

    async def update(
        self,
        contract_id: str,
        body: ContractChanges,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Change a contract, or let it end later. `PATCH /v2/contracts/{contract_id}`

        Needs `write:all`.
        """
        return cast("Contract", await self._call.one(OPERATIONS["updateContract"], (contract_id,), None, body, options))

    def lines(
        self,
        contract_id: str,
        query: ListContractLinesQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[ContractLine]:
        """List the lines of a contract. `GET /v2/contracts/{contract_id}/lines`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listContractLines"], (contract_id,), query, options)

    async def change(
        self,
        contract_id: str,
        body: ContractLineChanges,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """End lines of a contract, and add others. `POST /v2/contracts/{contract_id}/changes`

        Needs `write:all`.
        """
        return cast("Contract", await self._call.one(OPERATIONS["changeContract"], (contract_id,), None, body, options))

    async def cancel(
        self,
        contract_id: str,
        body: ContractCancellation,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Cancel a contract. `POST /v2/contracts/{contract_id}/cancel`

        Needs `write:all`.
        """
        return cast("Contract", await self._call.one(OPERATIONS["cancelContract"], (contract_id,), None, body, options))

    async def uncancel(
        self,
        contract_id: str,
        **options: Unpack[CallOptions],
    ) -> Contract:
        """Undo the cancellation of a contract. `POST /v2/contracts/{contract_id}/uncancel`

        Needs `write:all`.
        """
        return cast("Contract", await self._call.one(OPERATIONS["uncancelContract"], (contract_id,), None, None, options))


class AsyncInvoicePreviewsResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def preview(
        self,
        body: NewInvoicePreview,
        **options: Unpack[CallOptions],
    ) -> InvoicePreview:
        """Preview the invoice of a period of a contract. `POST /v2/invoice-previews`

        Needs `read:all`.
        """
        return cast("InvoicePreview", await self._call.one(OPERATIONS["previewInvoice"], (), None, body, options))

    def list(
        self,
        query: ListInvoicePreviewsQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[InvoiceSummary]:
        """Preview the invoices of a period of all contracts. `GET /v2/invoice-previews`

        Needs `read:all`.
        """
        return self._call.pages(OPERATIONS["listInvoicePreviews"], (), query, options)


class AsyncCallerResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def get(
        self,
        **options: Unpack[CallOptions],
    ) -> Caller:
        """Get the company of this key, and its permissions. `GET /v2/caller`

        Needs `read:all` or `write:all` or `manage:keys` or `read:account`.
        """
        return cast("Caller", await self._call.one(OPERATIONS["getCaller"], (), None, None, options))


class AsyncApiKeysResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListApiKeysQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[ApiKey]:
        """List API keys. `GET /v2/api-keys`

        Needs `manage:keys`.
        """
        return self._call.pages(OPERATIONS["listApiKeys"], (), query, options)

    async def create(
        self,
        body: NewApiKey,
        **options: Unpack[CallOptions],
    ) -> IssuedApiKey:
        """Issue an API key. `POST /v2/api-keys`

        Needs `manage:keys`.
        """
        return cast("IssuedApiKey", await self._call.one(OPERATIONS["createApiKey"], (), None, body, options))

    async def get(
        self,
        api_key_id: str,
        **options: Unpack[CallOptions],
    ) -> ApiKey:
        """Get an API key. `GET /v2/api-keys/{api_key_id}`

        Needs `manage:keys`.
        """
        return cast("ApiKey", await self._call.one(OPERATIONS["getApiKey"], (api_key_id,), None, None, options))

    async def rotate(
        self,
        api_key_id: str,
        body: ApiKeyRotation,
        **options: Unpack[CallOptions],
    ) -> RotatedApiKey:
        """Rotate an API key. `POST /v2/api-keys/{api_key_id}/rotate`

        Needs `manage:keys`.
        """
        return cast("RotatedApiKey", await self._call.one(OPERATIONS["rotateApiKey"], (api_key_id,), None, body, options))

    async def revoke(
        self,
        api_key_id: str,
        **options: Unpack[CallOptions],
    ) -> ApiKey:
        """Revoke an API key. `POST /v2/api-keys/{api_key_id}/revoke`

        Needs `manage:keys`.
        """
        return cast("ApiKey", await self._call.one(OPERATIONS["revokeApiKey"], (api_key_id,), None, None, options))


class AsyncAuditTrailResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def list(
        self,
        query: ListAuditTrailQuery | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[AuditEntry]:
        """List changes, and who made them. `GET /v2/audit-trail`

        Needs `manage:keys`.
        """
        return self._call.pages(OPERATIONS["listAuditTrail"], (), query, options)


class AsyncTestClockResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def get(
        self,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Get the company's time. `GET /v2/test/clock`

        Needs `read:all`.
        """
        return cast("TestClock", await self._call.one(OPERATIONS["getTestClock"], (), None, None, options))

    async def set(
        self,
        body: TestClockTime,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Set the company's clock forward. `PUT /v2/test/clock`

        Needs `write:all`.
        """
        return cast("TestClock", await self._call.one(OPERATIONS["setTestClock"], (), None, body, options))

    async def reset(
        self,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Return the company's clock to real time. `DELETE /v2/test/clock`

        Needs `write:all`.
        """
        return cast("TestClock", await self._call.one(OPERATIONS["resetTestClock"], (), None, None, options))

    async def advance(
        self,
        body: TestClockAdvance,
        **options: Unpack[CallOptions],
    ) -> TestClock:
        """Move the company's clock ahead. `POST /v2/test/clock/advance`

        Needs `write:all`.
        """
        return cast("TestClock", await self._call.one(OPERATIONS["advanceTestClock"], (), None, body, options))


class AsyncTestAreaResource:
    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    async def reset(
        self,
        **options: Unpack[CallOptions],
    ) -> TestReset:
        """Reset the company to an empty one. `POST /v2/test/reset`

        Needs `write:all`.
        """
        return cast("TestReset", await self._call.one(OPERATIONS["resetTestCompany"], (), None, None, options))

    async def seed(
        self,
        body: TestSeed | None = None,
        **options: Unpack[CallOptions],
    ) -> TestWorld:
        """Make seed data. `POST /v2/test/seed`

        Needs `write:all`.
        """
        return cast("TestWorld", await self._call.one(OPERATIONS["seedTestCompany"], (), None, body, options))

    async def drain(
        self,
        body: TestDrain | None = None,
        **options: Unpack[CallOptions],
    ) -> TestDrained:
        """Wait until everything is counted. `POST /v2/test/drain`

        Needs `write:all`.
        """
        return cast("TestDrained", await self._call.one(OPERATIONS["drainTestCompany"], (), None, body, options))


class AsyncResources:
    """The methods of a client, by resource."""

    def __init__(self, call: AsyncCall) -> None:
        self.health = AsyncHealthResource(call)
        self.documentation = AsyncDocumentationResource(call)
        self.customers = AsyncCustomersResource(call)
        self.accounts = AsyncAccountsResource(call)
        self.metrics = AsyncMetricsResource(call)
        self.grants = AsyncGrantsResource(call)
        self.refill_configurations = AsyncRefillConfigurationsResource(call)
        self.events = AsyncEventsResource(call)
        self.usage = AsyncUsageResource(call)
        self.currencies = AsyncCurrenciesResource(call)
        self.products = AsyncProductsResource(call)
        self.prices = AsyncPricesResource(call)
        self.rate_cards = AsyncRateCardsResource(call)
        self.contracts = AsyncContractsResource(call)
        self.invoice_previews = AsyncInvoicePreviewsResource(call)
        self.caller = AsyncCallerResource(call)
        self.api_keys = AsyncApiKeysResource(call)
        self.audit_trail = AsyncAuditTrailResource(call)
        self.test_clock = AsyncTestClockResource(call)
        self.test_area = AsyncTestAreaResource(call)
