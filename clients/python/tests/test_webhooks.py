from __future__ import annotations

import base64
import hashlib
import hmac
import time
from typing import Any

import pytest

from tally import WebhookVerificationError
from tally.webhooks import unwrap

KEY = b"a secret of 24 bytes ..."
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
BODY = '{"type":"balance.low","ä":1}'


def signed(body: str = BODY, at: float | None = None, key: bytes = KEY) -> dict[str, str]:
    seconds = str(int(time.time() if at is None else at))
    digest = hmac.new(key, f"msg_1.{seconds}.{body}".encode(), hashlib.sha256).digest()
    signature = f"v1a,AAAA v1,{base64.b64encode(digest).decode()}"
    return {"Webhook-Id": "msg_1", "Webhook-Timestamp": seconds, "Webhook-Signature": signature}


def reason(**given: Any) -> str:
    arguments = {"body": BODY, "headers": signed(), "secret": SECRET, **given}
    with pytest.raises(WebhookVerificationError) as raised:
        unwrap(**arguments)
    return raised.value.reason


def test_a_webhook_of_tally_is_returned() -> None:
    assert unwrap(BODY, signed(), SECRET) == {"type": "balance.low", "ä": 1}
    assert unwrap(BODY.encode(), signed(), [f"whsec_{base64.b64encode(b'new').decode()}", SECRET])["ä"] == 1


def test_each_other_one_is_refused_with_the_reason() -> None:
    assert reason(body={"type": "balance.low"}) == "body"
    assert reason(headers={}) == "header"
    assert reason(headers={**signed(), "Webhook-Signature": ""}) == "header"
    assert reason(headers=signed(at=time.time() - 310)) == "time"
    assert reason(headers=signed(at=time.time() + 310)) == "time"
    assert reason(headers={**signed(), "Webhook-Timestamp": "soon"}) == "time"
    assert reason(headers=signed(at=time.time() - 10), tolerance_s=5) == "time"
    assert reason(body=BODY.replace(":", ": ")) == "signature"
    assert reason(headers=signed(key=b"another")) == "signature"
    assert reason(headers={**signed(), "Webhook-Signature": "v1,%%% v2,AAAA"}) == "signature"
    assert reason(headers={**signed(), "Webhook-Id": "msg_2"}) == "signature"
    assert reason(body="no JSON", headers=signed("no JSON")) == "body"
    with pytest.raises(TypeError):
        unwrap(BODY, signed(), "whsec_")
