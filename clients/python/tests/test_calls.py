from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from support import CUT, Scripted

import tally
from tally import Hooks
from tally.testing import MemoryAnswer

ACCOUNT = {"id": "account_1"}
USED = "Idempotency-Key: this key was used before"
EVENT = {"account_id": "account_1", "metric_id": "metric_1", "quantity": "1"}


def failed(status: int, text: str = "no", **headers: str) -> MemoryAnswer:
    return MemoryAnswer(text, status, {name.replace("_", "-"): value for name, value in headers.items()})


class TestRetries:
    def test_a_safe_request_is_sent_again_twice_with_longer_waits(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, failed(503), ACCOUNT])
        assert scripted.tally.accounts.get("account_1") == ACCOUNT
        assert scripted.waits == [250, 500]

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    def test_it_is_sent_again_after(self, client: Any, status: int) -> None:
        scripted = Scripted(client, [failed(status), ACCOUNT])
        scripted.tally.accounts.get("account_1")
        assert len(scripted.requests) == 2

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 415, 422, 501])
    def test_it_is_not_sent_again_after(self, client: Any, status: int) -> None:
        scripted = Scripted(client, [failed(status)])
        with pytest.raises(tally.TallyError):
            scripted.tally.accounts.get("account_1")
        assert len(scripted.requests) == 1

    def test_no_retries_are_none(self, client: Any) -> None:
        scripted = Scripted(client, [CUT])
        with pytest.raises(tally.ConnectionError):
            scripted.tally.accounts.get("account_1", max_retries=0)
        assert len(scripted.requests) == 1

    def test_a_keyed_request_keeps_its_key_and_its_bytes(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, CUT, ACCOUNT])
        scripted.tally.accounts.create({"name": "a"})
        keys = {request.headers["idempotency-key"] for request in scripted.requests}
        assert len(keys) == 1
        assert keys.pop().startswith("sdk-")
        assert len(set(scripted.bodies)) == 1
        scripted.tally.accounts.create({"name": "a"})
        assert len({request.headers["idempotency-key"] for request in scripted.requests}) == 2

    def test_what_may_do_harm_is_repeated_only_when_nothing_was_written(self, client: Any) -> None:
        scripted = Scripted(client, [failed(429), failed(408), {"reset_at": 1}])
        scripted.tally.test_area.reset()
        assert len(scripted.requests) == 3
        for step in (CUT, failed(503)):
            scripted = Scripted(client, [step])
            with pytest.raises(tally.TallyError):
                scripted.tally.test_area.reset()
            assert len(scripted.requests) == 1

    def test_it_waits_as_long_as_tally_asks_for_up_to_a_minute(self, client: Any) -> None:
        scripted = Scripted(client, [failed(429, retry_after="7"), ACCOUNT])
        scripted.tally.accounts.get("account_1")
        assert scripted.waits == [7_000]
        scripted = Scripted(client, [failed(503, retry_after="61")])
        with pytest.raises(tally.UnavailableError) as raised:
            scripted.tally.accounts.get("account_1")
        assert raised.value.retry_after_ms == 61_000
        assert scripted.waits == []

    def test_a_report_has_its_time_and_key_before_the_first_attempt(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, {"accepted": 2}])
        scripted.tally.events.report_many({"events": [EVENT, {**EVENT, "idempotency_key": "k", "occurred_at": 5}]})
        assert scripted.bodies[0] == scripted.bodies[1]
        first, second = scripted.requests[1].body["events"]
        assert abs(first["occurred_at"] - time.time()) < 10
        assert len(first["idempotency_key"]) == 36
        assert (second["occurred_at"], second["idempotency_key"]) == (5, "k")

    def test_nothing_is_filled_in_when_the_caller_gives_the_key_of_the_request(self, client: Any) -> None:
        scripted = Scripted(client, [{"id": "event_1"}])
        scripted.tally.events.report(EVENT, idempotency_key="mine")
        assert scripted.requests[0].body == EVENT
        assert scripted.requests[0].headers["idempotency-key"] == "mine"


class TestLostAnswers:
    def test_what_was_made_is_read(self, client: Any) -> None:
        used = failed(409, USED, idempotency_resource="account_7")
        scripted = Scripted(client, [CUT, used, ACCOUNT])
        assert scripted.tally.accounts.create({"name": "a"}) == ACCOUNT
        assert (scripted.requests[2].method, scripted.requests[2].path) == ("GET", "/v2/accounts/account_7")

    def test_the_text_names_it_when_no_header_does(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, failed(409, f"{USED}, for account_7"), ACCOUNT])
        assert scripted.tally.accounts.create({"name": "a"}) == ACCOUNT

    def test_a_resource_that_the_path_names_is_read(self, client: Any) -> None:
        scripted = Scripted(client, [failed(503), failed(409, USED), {"id": "card"}])
        scripted.tally.rate_cards.change("card", {})
        assert scripted.requests[2].path == "/v2/rate-cards/card"

    def test_a_secret_cannot_be_read(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, failed(409, USED, idempotency_resource="key_7")])
        with pytest.raises(tally.OutcomeUnknownError, match="made key_7, but its answer was lost") as raised:
            scripted.tally.api_keys.create({"name": "k", "permissions": ["read:all"]})
        assert raised.value.id == "key_7"
        assert len(scripted.requests) == 2

    def test_what_cannot_be_read_is_named(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, failed(409, USED, idempotency_resource="account_7"), failed(403)])
        with pytest.raises(tally.OutcomeUnknownError, match="cannot be read") as raised:
            scripted.tally.accounts.create({"name": "a"})
        assert raised.value.id == "account_7"

    def test_the_conflict_of_a_first_attempt_is_the_callers(self, client: Any) -> None:
        scripted = Scripted(client, [failed(409, USED, idempotency_resource="account_7")])
        with pytest.raises(tally.ConflictError):
            scripted.tally.accounts.create({"name": "a"}, idempotency_key="mine")
        # Nothing was written by an attempt that was refused by a limit.
        scripted = Scripted(client, [failed(429), failed(409, USED, idempotency_resource="account_7")])
        with pytest.raises(tally.ConflictError):
            scripted.tally.accounts.create({"name": "a"}, idempotency_key="mine")

    def test_another_content_is_the_callers_mistake(self, client: Any) -> None:
        scripted = Scripted(client, [CUT, failed(409, f"{USED}, for account_7, with another content")])
        with pytest.raises(tally.ConflictError):
            scripted.tally.accounts.create({"name": "a"})


class TestAnswers:
    @pytest.mark.parametrize(
        "answer",
        [
            MemoryAnswer("<html>log in</html>", 200, {"content-type": "text/html"}),
            MemoryAnswer("not JSON", 200, {"content-type": "application/json"}),
            MemoryAnswer("[]", 200, {"content-type": "application/json"}),
            MemoryAnswer({}, 201),
            MemoryAnswer("", 302, {"location": "https://elsewhere"}),
        ],
    )
    def test_only_tallys_answers_are_believed(self, client: Any, answer: MemoryAnswer) -> None:
        scripted = Scripted(client, [answer])
        with pytest.raises(tally.NotTallyError) as raised:
            scripted.tally.accounts.get("account_1")
        assert raised.value.status == answer.status
        assert len(scripted.requests) == 1

    @pytest.mark.parametrize("accepted", [1, "2", True, None])
    def test_a_batch_must_be_counted(self, client: Any, accepted: object) -> None:
        scripted = Scripted(client, [{"accepted": accepted}])
        with pytest.raises(tally.NotTallyError, match="accepted is"):
            scripted.tally.events.report_many({"events": [EVENT, EVENT]})
        scripted = Scripted(client, [{"corrected": 3}])
        with pytest.raises(tally.NotTallyError, match="corrected is 3, not 1"):
            scripted.tally.events.correct_many({"corrections": [{"event_id": "e", "quantity": 1}]})

    def test_errors_tell_what_is_known(self, client: Any) -> None:
        text = "events[3].quantity: must be text\ncorrections[0]: is odd\nname: is missing\nand 3 more"
        text += "\nevents[4].properties.größe x: is long"
        scripted = Scripted(client, [failed(400, text)])
        with pytest.raises(tally.BadRequestError) as raised:
            scripted.tally.accounts.get("account_1")
        error = raised.value
        assert str(error) == f"{text} (getAccount)"
        assert [(one.index, one.field, one.reason) for one in error.faults] == [
            (3, "quantity", "must be text"),
            (0, "", "is odd"),
            (None, "name", "is missing"),
            (4, "properties.größe x", "is long"),
        ]
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.faults, copy.status) == (type(error), str(error), error.faults, 400)

    def test_a_rate_limit_is_read(self, client: Any) -> None:
        limit = {"RateLimit": '"reports";r=0;t=12', "RateLimit-Policy": '"reports";q=600;w=60'}
        scripted = Scripted(client, [MemoryAnswer("slow down", 429, limit)])
        with pytest.raises(tally.RateLimitedError) as raised:
            scripted.tally.accounts.get("account_1")
        assert raised.value.limit == tally.RateLimit("reports", 0, 12, 600, 60)
        assert raised.value.attempts == 3

    def test_lost_connections_are_errors_of_python_too(self, client: Any) -> None:
        scripted = Scripted(client, [CUT])
        with pytest.raises(ConnectionError, match=r"no answer from http://tally.test: socket hang up .*3 attempts"):
            scripted.tally.accounts.get("account_1")


class TestPages:
    @staticmethod
    def pages(*ids: list[str]) -> list[dict[str, Any]]:
        return [{"data": [{"id": one} for one in page], "has_more": page is not ids[-1]} for page in ids]

    def test_each_item_comes_once(self, client: Any) -> None:
        scripted = Scripted(client, self.pages(["a", "b"], ["c"]))
        listed = scripted.tally.accounts.list({"limit": 2, "is_archived": False})
        assert scripted.requests == []
        assert [item["id"] for item in listed] == ["a", "b", "c"]
        assert [request.query for request in scripted.requests] == [
            {"limit": "2", "is_archived": "false"},
            {"limit": "2", "is_archived": "false", "starting_after": "b"},
        ]

    def test_pages_can_be_taken_one_by_one(self, client: Any) -> None:
        scripted = Scripted(client, self.pages(["a"], ["b"]))
        page = scripted.tally.accounts.list().page()
        assert page.has_more
        page = page.next()
        assert [item["id"] for item in page.data] == ["b"]
        assert page.next() is None
        assert len(scripted.requests) == 2

    def test_the_cursor_is_that_of_the_list(self, client: Any) -> None:
        item = {"account_id": "a", "metric_id": "m", "grant_id": "g"}
        steps = [{"data": [item], "has_more": True}, {"data": [], "has_more": False}] * 2
        scripted = Scripted(client, steps)
        assert len(list(scripted.tally.refill_configurations.list())) == 1
        assert scripted.requests[1].query["starting_after"] == "a/m"
        assert len(list(scripted.tally.refill_configurations.refills("a", "m"))) == 1
        assert scripted.requests[3].query["starting_after"] == "g"

    def test_an_empty_page_that_has_more_is_no_endless_loop(self, client: Any) -> None:
        scripted = Scripted(client, [{"data": [], "has_more": True}])
        with pytest.raises(tally.NotTallyError, match="an empty page"):
            list(scripted.tally.accounts.list())


class TestKeys:
    def test_a_function_is_asked_again_once_after_its_key_is_refused(self, client: Any) -> None:
        keys = iter(["first", "second"])
        scripted = Scripted(client, [failed(401), ACCOUNT], api_key=lambda: next(keys))
        scripted.tally.accounts.get("account_1")
        scripted.tally.accounts.get("account_1")
        assert scripted.keys == ["first", "second", "second"]

    def test_the_same_key_is_not_tried_again(self, client: Any) -> None:
        scripted = Scripted(client, [failed(401)], api_key=lambda: "only")
        with pytest.raises(tally.InvalidKeyError):
            scripted.tally.accounts.get("account_1")
        assert scripted.keys == ["only"]

    def test_a_function_that_fails_is_asked_again(self, client: Any) -> None:
        answers = iter([OSError("the store is away"), "key"])

        def ask() -> str:
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return answer

        scripted = Scripted(client, [ACCOUNT], api_key=ask)
        with pytest.raises(OSError, match="the store is away"):
            scripted.tally.accounts.get("account_1")
        assert scripted.tally.accounts.get("account_1") == ACCOUNT

    def test_the_key_is_in_no_text(self, client: Any) -> None:
        scripted = Scripted(client, [CUT])
        assert "secret" not in repr(scripted.tally)
        with pytest.raises(tally.ConnectionError) as raised:
            scripted.tally.accounts.get("account_1")
        assert "secret" not in repr(raised.value) + str(vars(raised.value))


class TestOptions:
    def test_the_environment_says_what_is_left_out(self, client: Any, environment: Any) -> None:
        with environment(TALLY_URL="http://tally.test/base/", TALLY_API_KEY="k"):
            assert client().url == "http://tally.test/base"
        with environment(TALLY_URL="", TALLY_API_KEY=""):
            with pytest.raises(TypeError, match="url is missing"):
                client(api_key="k")
            with pytest.raises(TypeError, match="api_key is missing"):
                client(url="http://tally.test")

    @pytest.mark.parametrize(
        "options",
        [
            {"url": "tally.test"},
            {"url": "ftp://tally.test"},
            {"url": "http://tally.test/v2/"},
            {"api_key": "two words"},
            {"timeout_ms": 0},
            {"timeout_ms": 1.5},
            {"max_retries": -1},
            {"max_sockets": True},
        ],
    )
    def test_what_is_not_valid_is_refused(self, client: Any, options: dict[str, Any]) -> None:
        with pytest.raises(TypeError):
            client(**{"url": "http://tally.test", "api_key": "k", **options})

    def test_an_option_that_does_not_exist_is_refused(self, client: Any) -> None:
        scripted = Scripted(client, [ACCOUNT])
        with pytest.raises(TypeError, match="there is no option 'idempotencykey'"):
            scripted.tally.accounts.create({"name": "a"}, idempotencykey="k")

    @pytest.mark.parametrize("value", ["", ".", "..", None, 5])
    def test_a_value_that_would_change_the_path_is_refused(self, client: Any, value: Any) -> None:
        scripted = Scripted(client, [ACCOUNT])
        with pytest.raises(TypeError, match=r"account_id: .* cannot stand in a path"):
            scripted.tally.accounts.get(value)
        scripted.tally.accounts.get_by_external_id("a/b ?é")
        assert scripted.requests[0].path == "/v2/accounts/external-id/a/b ?é"

    def test_lists_in_a_query_are_separated_by_commas(self, client: Any) -> None:
        scripted = Scripted(client, [{"data": []}])
        scripted.tally.accounts.balances({"account_ids": ["a", "b"], "metric_id": "m", "currency": None})
        assert scripted.requests[0].query == {"account_ids": "a,b", "metric_id": "m"}


class TestHooks:
    def test_they_see_each_attempt_and_may_add_headers(self, client: Any) -> None:
        seen: list[Any] = []

        def on_request(info: tally.RequestStart) -> str:
            info.headers["traceparent"] = f"trace {info.attempt}"
            info.headers["X-Api-Key"] = "of the hook"
            return f"context {info.attempt}"

        hooks = Hooks(
            on_request,
            lambda info, context: seen.append((info.operation, info.path, info.status, context)),
            lambda info, context: seen.append((info.wait_ms, info.error, context)),
        )
        scripted = Scripted(client, [failed(503), ACCOUNT], hooks=hooks)
        scripted.tally.accounts.get("account_1", headers={"X-Mine": "yes"})
        assert seen[0] == ("getAccount", "/v2/accounts/{account_id}", 503, "context 1")
        assert seen[1][0] == 250
        assert isinstance(seen[1][1], tally.UnavailableError)
        assert seen[2] == ("getAccount", "/v2/accounts/{account_id}", 200, "context 2")
        assert scripted.requests[1].headers == {"traceparent": "trace 2", "x-mine": "yes"}
        assert scripted.keys == ["tally_test_secret"] * 2

    def test_one_that_raises_does_not_harm_the_request(self, client: Any, caplog: Any) -> None:
        def fail(*_: object) -> None:
            raise ValueError("of the hook")

        scripted = Scripted(client, [CUT, ACCOUNT], hooks=Hooks(fail, fail, fail))
        assert scripted.tally.accounts.get("account_1") == ACCOUNT
        assert len([one for one in caplog.records if one.message == "a hook failed"]) == 5
