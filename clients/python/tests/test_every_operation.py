from __future__ import annotations

import json
import re
import urllib.request
from typing import Any

import pytest

import tally
from tally import Tally
from tally._operations_gen import OPERATIONS


def get(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def call(made: Any, operation: dict[str, Any], arguments: dict[str, Any]) -> Any:
    method = getattr(getattr(made, operation["resource"]), operation["method"])
    answer = method(*arguments["path"], *arguments["contents"])
    # A list sends nothing before it is asked for a page.
    return answer if OPERATIONS[operation["id"]].cursor is None else fields_of(answer.page())


def fields_of(page: Any) -> dict[str, Any]:
    return {"data": page.data, "has_more": page.has_more}


def test_every_operation_succeeds_and_raises_what_it_is_refused_with(
    client: Any, url: str, key: str, test_key: str, requests_url: str
) -> None:
    operations = get(requests_url)
    live, sandbox = client(url=url, api_key=key), client(url=url, api_key=test_key)
    assert {operation["id"] for operation in operations} == set(OPERATIONS)
    for operation in operations:
        id = operation["id"]
        made = sandbox if operation["isForTests"] else live
        answered = call(made, operation, get(f"{requests_url}/{id}/good"))
        is_json = OPERATIONS[id].media_type == "application/json"
        assert isinstance(answered, dict if is_json else str), id
        for kind, error in (("conflict", tally.ConflictError), ("impossible", tally.UnprocessableError)):
            if kind in operation["kinds"]:
                with pytest.raises(error):
                    call(made, operation, get(f"{requests_url}/{id}/{kind}"))


def test_each_other_status_raises_its_class(client: Any, url: str, key: str) -> None:
    made = client(url=url, api_key=key)
    reader = client(url=url, api_key=made.api_keys.create({"name": "r", "permissions": ["read:all"]})["key"])
    with pytest.raises(tally.BadRequestError):
        made.accounts.list({"limit": 1_000}).page()
    with pytest.raises(tally.InvalidKeyError):
        client(url=url, api_key="tally_live_wrong").accounts.list().page()
    with pytest.raises(tally.ForbiddenError):
        reader.accounts.create({"name": "a"})
    with pytest.raises(tally.NotFoundError):
        made.accounts.get(f"account_{'0' * 32}")
    with pytest.raises(tally.TooLargeError):
        made.accounts.create({"name": "a" * 3_000_000})


def test_each_item_of_a_list_comes_once(client: Any, url: str, key: str) -> None:
    made = client(url=url, api_key=key)
    account = made.accounts.create({"name": "pages"})["id"]
    grants = [
        made.grants.create({"account_id": account, "currency": "usd", "amount": n + 1, "effective_at": 0})["id"]
        for n in range(7)
    ]
    assert [grant["id"] for grant in made.grants.list({"account_id": account, "limit": 3})] == grants
    assert made.accounts.balance(account, {"currency": "usd"})["balance"] == "28"


def test_names_are_those_of_python() -> None:
    made = Tally("http://tally.test", "k")
    names = [name for name in vars(made) if not name.startswith("_") and name != "url"]
    assert len(names) >= 20
    for name in names:
        assert re.fullmatch(r"[a-z_]+", name)
        methods = [method for method in dir(getattr(made, name)) if not method.startswith("_")]
        assert all(re.fullmatch(r"[a-z_]+", method) for method in methods)
