"""What the clients of all languages must do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import VECTORS

import tally
from tally import Tally, TransportAnswer, TransportRequest
from tally._errors import parse_faults
from tally._retries import parse_retry_after

CLIENT: dict[str, Any] = json.loads((VECTORS / "client.json").read_text())


class OneAnswer:
    def __init__(self, answer: TransportAnswer) -> None:
        self._answer = answer

    def send(self, _: TransportRequest) -> TransportAnswer:
        return self._answer

    def close(self) -> None:
        """There is nothing to close."""


@pytest.mark.parametrize("vector", CLIENT["errors"])
def test_errors_are_the_same(vector: dict[str, Any]) -> None:
    headers = {"content-type": vector["content_type"]} if "content_type" in vector else {}
    answer = OneAnswer(TransportAnswer(vector["status"], headers, vector["text"]))
    with pytest.raises(tally.TallyError) as raised:
        Tally("http://tally.test", "k", max_retries=0, transport=answer).caller.get()
    assert type(raised.value).__name__ == vector["error"]


@pytest.mark.parametrize("vector", CLIENT["faults"])
def test_faults_are_the_same(vector: dict[str, Any]) -> None:
    assert [[one.index, one.field, one.reason] for one in parse_faults(vector["text"])] == vector["faults"]


@pytest.mark.parametrize("vector", CLIENT["retry_after"])
def test_waits_are_the_same(vector: dict[str, Any]) -> None:
    assert parse_retry_after(vector["header"], vector["now"]) == vector["ms"]
