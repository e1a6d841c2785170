// Reads what generated-clients.test.ts has made, and prints it as JSON. Arguments: URL, key, ids.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"generated-client/tally"

	"github.com/oapi-codegen/nullable"
)

func main() {
	ctx := context.Background()
	url, key, ids := os.Args[1], os.Args[2], os.Args[3:]
	client := must(tally.NewClientWithResponses(url, tally.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("x-api-key", key)
			return nil
		})))
	read := map[string]any{
		"full": fieldsOf(must(client.GetAccountWithResponse(ctx, ids[0])).JSON200),
		"bare": fieldsOf(must(client.GetAccountWithResponse(ctx, ids[1])).JSON200),
	}

	pages := [][]string{}
	limit := 2
	params := &tally.ListAccountsParams{Limit: &limit}
	for hasMore := true; hasMore; {
		var page *tally.AccountPage = must(client.ListAccountsWithResponse(ctx, params)).JSON200
		names := []string{}
		for _, account := range page.Data {
			names = append(names, account.Id)
		}
		pages = append(pages, names)
		params.StartingAfter = &names[len(names)-1]
		hasMore = page.HasMore
	}
	read["pages"] = pages

	grant := must(client.GetGrantWithResponse(ctx, ids[2])).JSON200
	read["grant"] = map[string]any{"amount": grant.Amount, "expires_at": grant.ExpiresAt}

	price := must(must(client.GetPriceWithResponse(ctx, ids[3])).JSON200.AsPerUnitPrice())
	read["price"] = map[string]any{"model": price.Model, "unit_amount": price.UnitAmount}

	missing := must(client.GetAccountWithResponse(ctx, ids[4]))
	read["missing"] = map[string]any{"status": missing.StatusCode(), "text": string(missing.Body)}

	os.Stdout.Write(must(json.Marshal(read)))
}

func fieldsOf(account *tally.Account) map[string]any {
	fields := map[string]any{
		"id":          account.Id,
		"name":        account.Name,
		"created_at":  account.CreatedAt,
		"updated_at":  account.UpdatedAt,
		"archived_at": orNull(account.ArchivedAt),
	}
	if account.ExternalId != nil {
		fields["external_id"] = *account.ExternalId
	}
	if account.ServiceCustomerId != nil {
		fields["service_customer_id"] = *account.ServiceCustomerId
	}
	if account.Description != nil {
		fields["description"] = *account.Description
	}
	return fields
}

func orNull[T any](value nullable.Nullable[T]) any {
	if value.IsNull() {
		return nil
	}
	return value.MustGet()
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
