"""Reports CloudEvents with the package of the CloudEvents project: alone, then as a list. Each is sent three times."""

import sys
import urllib.request
from datetime import datetime, timezone

from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

url, key, source = sys.argv[1:]


def event_of(id: str, data: dict) -> CloudEvent:
    time = datetime.now(timezone.utc)
    attributes = {"specversion": "1.0", "id": id, "source": source, "type": "model.called", "subject": "acme"}
    return CloudEvent(attributes={**attributes, "time": time}, data=data)


def post(path: str, headers: dict, body: bytes) -> None:
    headers = {**headers, "authorization": f"Bearer {key}"}
    request = urllib.request.Request(url + path, data=body, headers=headers, method="POST")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 202, answer.read()


one = event_of("a b%20/ü", {"tokens": 12.5, "model": "large"})
several = [event_of("1", {"tokens": "0.000000000000000001"}), event_of("2", {"tokens": 1e-07})]
for attempt in range(3):
    message = http.to_structured_event(one)
    post("/v2/events", message.headers, message.body)
    # The package writes no lists, but its format writes events.
    body = b"[" + b",".join(JSONFormat().write(event) for event in several) + b"]"
    post("/v2/events/batch", {"content-type": "application/cloudevents-batch+json"}, body)
print("{}")
