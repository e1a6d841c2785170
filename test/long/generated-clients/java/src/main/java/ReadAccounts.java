import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccountsApi;
import org.openapitools.client.api.GrantsApi;
import org.openapitools.client.api.PricesApi;
import org.openapitools.client.model.Account;
import org.openapitools.client.model.AccountPage;
import org.openapitools.client.model.Grant;
import org.openapitools.client.model.PerUnitPrice;

/** Reads what generated-clients.test.ts has made, and prints it as JSON. Arguments: URL, key, ids. */
class ReadAccounts {
  public static void main(String[] args) throws Exception {
    String url = args[0], key = args[1];
    ApiClient client = new ApiClient();
    client.updateBaseUri(url);
    client.setRequestInterceptor(request -> request.header("x-api-key", key));
    AccountsApi accounts = new AccountsApi(client);

    Map<String, Object> read = new LinkedHashMap<>();
    read.put("full", fieldsOf(accounts.getAccount(args[2])));
    read.put("bare", fieldsOf(accounts.getAccount(args[3])));

    List<List<String>> pages = new ArrayList<>();
    AccountPage page;
    String last = null;
    do {
      page = accounts.listAccounts(2, last, null, null, null, null);
      List<String> ids = page.getData().stream().map(Account::getId).toList();
      pages.add(ids);
      last = ids.get(ids.size() - 1);
    } while (page.getHasMore());
    read.put("pages", pages);

    Grant grant = new GrantsApi(client).getGrant(args[4]);
    read.put("grant", Map.of("amount", grant.getAmount(), "expires_at", grant.getExpiresAt()));

    PerUnitPrice price = new PricesApi(client).getPrice(args[5]).getPerUnitPrice();
    read.put("price", Map.of("model", price.getModel().getValue(), "unit_amount", price.getUnitAmount()));

    try {
      accounts.getAccount(args[6]);
    } catch (ApiException e) {
      read.put("missing", Map.of("status", e.getCode(), "text", e.getResponseBody()));
    }
    System.out.println(new ObjectMapper().writeValueAsString(read));
  }

  static Map<String, Object> fieldsOf(Account account) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("id", account.getId());
    putGiven(fields, "external_id", account.getExternalId());
    putGiven(fields, "service_customer_id", account.getServiceCustomerId());
    fields.put("name", account.getName());
    putGiven(fields, "description", account.getDescription());
    fields.put("created_at", account.getCreatedAt());
    fields.put("updated_at", account.getUpdatedAt());
    fields.put("archived_at", account.getArchivedAt());
    return fields;
  }

  static void putGiven(Map<String, Object> fields, String name, Object value) {
    if (value != null) fields.put(name, value);
  }
}
