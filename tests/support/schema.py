"""As much of JSON Schema (2020-12, the OpenAPI 3.1 dialect) as api/openapi.yaml uses; an unknown keyword is an error."""

import re

_TYPES = {"object": dict, "array": list, "string": str, "null": type(None), "boolean": bool}
_SILENT = {"description", "title", "example", "examples", "default", "format", "deprecated", "readOnly", "writeOnly",
           "$comment", "contentMediaType", "externalDocs"}


class Schema:
    """Checks values against schemas of one document; `$ref` is looked up in it."""

    def __init__(self, document):
        self.document = document

    def resolve(self, node):
        """The node a chain of references ends at."""
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for token in node["$ref"].removeprefix("#/").split("/"):
                target = target[token.replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    def faults(self, schema, value, at="#"):
        """Sentences about what does not fit; empty when all does."""
        if schema is True or schema == {}:
            return []
        if schema is False:
            return [f"{at}: nothing is allowed here"]
        found = []
        if "$ref" in schema:
            found += self.faults(self.resolve(schema), value, at)
        for keyword, rule in schema.items():
            if keyword in _SILENT or keyword == "$ref":
                continue
            check = getattr(self, "_" + keyword.replace("$", ""), None)
            if check is None:
                raise AssertionError(f"schema keyword {keyword!r} at {at} is not known to these tests")
            found += check(rule, value, at, schema)
        return found

    def _type(self, rule, value, at, _):
        names = rule if isinstance(rule, list) else [rule]
        return [] if any(_is(name, value) for name in names) else [f"{at}: {value!r} is not {rule}"]

    def _enum(self, rule, value, at, _):
        return [] if value in rule else [f"{at}: {value!r} is not one of {rule}"]

    def _const(self, rule, value, at, _):
        return [] if value == rule else [f"{at}: {value!r} is not {rule!r}"]

    def _properties(self, rule, value, at, _):
        if not isinstance(value, dict):
            return []
        return [f for name, sub in rule.items() if name in value for f in self.faults(sub, value[name], f"{at}/{name}")]

    def _required(self, rule, value, at, _):
        return [f"{at}: {n} is missing" for n in rule if n not in value] if isinstance(value, dict) else []

    def _additionalProperties(self, rule, value, at, schema):
        if not isinstance(value, dict):
            return []
        known = set(schema.get("properties", {}))
        return [f for n in value if n not in known for f in self.faults(rule, value[n], f"{at}/{n}")]

    def _unevaluatedProperties(self, rule, value, at, schema):
        if not isinstance(value, dict) or rule is not False:
            return []
        known = self._named(schema)
        return [f"{at}: {n} is not described" for n in value if n not in known]

    def _named(self, schema):
        schema = self.resolve(schema)
        known = set(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            known |= self._named(part)
        return known

    def _items(self, rule, value, at, _):
        if not isinstance(value, list):
            return []
        return [f for n, item in enumerate(value) for f in self.faults(rule, item, f"{at}/{n}")]

    def _allOf(self, rule, value, at, _):
        return [f for part in rule for f in self.faults(part, value, at)]

    def _oneOf(self, rule, value, at, _):
        fits = sum(not self.faults(part, value, at) for part in rule)
        return [] if fits == 1 else [f"{at}: fits {fits} of oneOf"]

    def _anyOf(self, rule, value, at, _):
        return [] if any(not self.faults(part, value, at) for part in rule) else [f"{at}: fits none of anyOf"]

    def _not(self, rule, value, at, _):
        return [f"{at}: must not fit"] if not self.faults(rule, value, at) else []

    def _pattern(self, rule, value, at, _):
        fits = not isinstance(value, str) or re.search(rule, value)
        return [] if fits else [f"{at}: {value!r} does not match {rule}"]

    def _bound(self, fits, value, at, text):
        return [] if not _is("number", value) or fits(value) else [f"{at}: {value} is not {text}"]

    def _minimum(self, rule, value, at, _):
        return self._bound(lambda v: v >= rule, value, at, f"at least {rule}")

    def _maximum(self, rule, value, at, _):
        return self._bound(lambda v: v <= rule, value, at, f"at most {rule}")

    def _length(self, fits, value, at, text):
        return [] if not isinstance(value, (str, list, dict)) or fits(len(value)) else [f"{at}: length {len(value)}, {text}"]

    def _minLength(self, rule, value, at, _):
        return self._length(lambda n: n >= rule, value, at, f"at least {rule}")

    def _maxLength(self, rule, value, at, _):
        return self._length(lambda n: n <= rule, value, at, f"at most {rule}")

    _minItems, _maxItems, _minProperties, _maxProperties = _minLength, _maxLength, _minLength, _maxLength

    def _uniqueItems(self, rule, value, at, _):
        same = rule and isinstance(value, list) and any(a == b for n, a in enumerate(value) for b in value[:n])
        return [f"{at}: an item twice"] if same else []


def _is(name, value):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])
