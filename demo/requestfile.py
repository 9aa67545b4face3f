"""Reads the file of requests, and says which of them ask for the same thing. It shares no code with idem."""

import functools
import json
from decimal import Decimal


def freeze(value):
    """Makes a JSON value comparable: members in any order, numbers by exact value, types kept apart."""
    if isinstance(value, dict):
        return ("object", frozenset((name, freeze(member)) for name, member in value.items()))
    if isinstance(value, list):
        return ("array", tuple(freeze(element) for element in value))
    return (type(value).__name__, value)


def read_document(text):
    """Parses JSON without rounding any number; of members with one name the last one counts."""
    return freeze(json.loads(text, parse_int=Decimal, parse_float=Decimal))


class Request:
    """One line of the file: what an instance sends, and what it means."""

    def __init__(self, number, line):
        fields = json.loads(line)
        self.number = number
        self.instance = fields["instance"]
        self.scope = (fields["tenant_id"], fields["operation"], fields["idempotency_key"])
        self.arguments = fields
        self.original = self

    @functools.cached_property
    def content(self):
        """What the request asks for, comparable."""
        fields = self.arguments
        return (int(fields["amount_minor"]), fields["currency"], fields["order_ref"], read_document(fields["details"]))

    @property
    def tampered(self):
        """True where the first request of this scope asked for something else."""
        return self.content != self.original.content


def read_requests(path):
    """Returns the requests in the order of the file, each with the first one of its scope as its original."""
    originals = {}
    requests = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            request = Request(number, line)
            request.original = originals.setdefault(request.scope, request)
            requests.append(request)
    return requests
