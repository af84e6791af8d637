"""api/openapi.yaml as a judge: which row an exchange belongs to, and what in its answer the file does not say.

Statuses a row lists are judged by that row; any other by its `default`. A header that the service sends and the file
does not name is a fault, as an unknown field is."""

import os
import re

import yaml

from .schema import Schema
from .service import ROOT

PATH = os.path.join(ROOT, "api", "openapi.yaml")
METHODS = ("get", "put", "post", "patch", "delete")
TRANSPORT = {"connection", "content-length", "content-type", "date"}
# On every reply, said once in the file's introduction.
EVERYWHERE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def source(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def routes():
    """(method, path) → scopes, None for an open route."""
    rows = re.findall(r'{HTTP_(\w+), "([^"]+)", \w+, ([^,]+), ([^}]+)}', source("service", "endpoints", "routes.c"))
    return {(method, path): None if "ROUTE_OPEN" in flags else {s.lower() for s in re.findall(r"SCOPE_(\w+)", scopes)}
            for method, path, scopes, flags in rows}


def error_rows():
    """code → (status, slug, title)"""
    rows = re.findall(r'^ERR\(\w+, "([^"]+)", (\d+), "([^"]+)", "([^"]+)"', source("service", "base", "errors.def"), re.M)
    return {code: (int(status), slug, title) for code, status, slug, title in rows}


def pattern_of(template):
    return re.sub(r"{\w+}", "[^/]+", template)


class Contract:
    def __init__(self, document=None):
        self.document = document or yaml.safe_load(source("api", "openapi.yaml"))
        self.schema = Schema(self.document)
        self.operations = {(m.upper(), p): item[m] for p, item in self.document["paths"].items() for m in METHODS
                           if m in item}
        self.seen = set()

    def template(self, method, path):
        """The path of the file that a request's path belongs to, literals before parameters; None without one."""
        fits = [p for m, p in self.operations if m == method and re.fullmatch(pattern_of(p), path.split("?")[0])]
        return min(fits, key=lambda p: p.count("{"), default=None)

    def responses(self, method, template):
        return {str(s): self.schema.resolve(r) for s, r in self.operations[method, template]["responses"].items()}

    def codes_of(self, response):
        """Error codes a response can carry; none for a success."""
        content = response.get("content", {}).get("application/problem+json")
        if content is None:
            return []
        schemas = content["schema"].get("oneOf", [content["schema"]])
        return [self.schema.resolve(s)["properties"]["code"]["const"] for s in schemas]

    def declared(self):
        """Every (method, path, status, code) the file promises by name; code None for a success."""
        return {(m, p, status, code) for m, p in self.operations for status, response in self.responses(m, p).items()
                if status != "default" for code in self.codes_of(response) or [None]}

    def judge(self, method, template, reply):
        """Sentences about what the file does not say; the exchange counts as seen."""
        responses = self.responses(method, template)
        response = responses.get(str(reply.status))
        listed = response is not None
        if not listed:
            response = responses["default"]
        self.seen.add((method, template, str(reply.status) if listed else "default", reply.code))
        faults = self._body(response, reply) + self._headers(response, reply)
        return [f"{method} {template} {reply.status}: {fault}" for fault in faults]

    def _body(self, response, reply):
        kind = reply.headers.get("content-type", "")
        content = response.get("content", {})
        if not content:
            return [f"a body where none is said: {reply!r}"] if kind or reply.body else []
        if kind not in content:
            return [f"content type {kind!r}, not one of {list(content)}"]
        value = reply.json if kind.endswith("json") else reply.body.decode()
        faults = self.schema.faults(content[kind]["schema"], value)
        if faults and kind == "application/problem+json" and reply.code not in self.codes_of(response):
            return [f"{reply.code} is not listed here: {reply!r}"]
        return faults

    def _headers(self, response, reply):
        declared = {name.lower(): self.schema.resolve(h) for name, h in response.get("headers", {}).items()}
        faults = [f"header {n} is missing" for n, h in declared.items() if h.get("required") and n not in reply.headers]
        for name, value in reply.headers.items():
            if name in declared:
                faults += self.schema.faults(declared[name]["schema"], value, name)
            elif name not in TRANSPORT and EVERYWHERE.get(name) != value:
                faults.append(f"header {name}: {value} is not described")
        return faults + [f"header {name} is missing" for name in EVERYWHERE if name not in reply.headers]
