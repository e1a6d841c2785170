"""The types of requests and answers, as openapi.yaml has them."""

from ._types_gen import *  # noqa: F403
