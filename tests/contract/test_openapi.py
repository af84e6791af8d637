"""api/openapi.yaml by itself, and beside the tables of the code: routes, scopes, error rows.
test_openapi_walk.py holds the running service against it."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.contract import METHODS, Contract, error_rows, routes, source  # pylint: disable=wrong-import-position


class Document(unittest.TestCase):
    """The file by itself and beside the tables of the code."""

    @classmethod
    def setUpClass(cls):
        cls.contract = Contract()
        cls.document, cls.schema = cls.contract.document, cls.contract.schema

    def nodes(self, node, at="#"):
        yield at, node
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, child in items:
            yield from self.nodes(child, f"{at}/{name}")

    def references(self, node):
        return {n["$ref"] for _, n in self.nodes(node) if isinstance(n, dict) and isinstance(n.get("$ref"), str)}

    def test_references__then_each_leads_somewhere_and_no_component_is_left_over(self):
        references = self.references(self.document)
        for reference in references:
            with self.subTest(reference):
                self.assertIsNotNone(self.schema.resolve({"$ref": reference}))
        components = {f"#/components/{kind}/{name}" for kind, items in self.document["components"].items()
                      for name in items if kind != "securitySchemes"}
        self.assertEqual(components - references, set())

    def test_head__then_version_and_server_are_those_of_the_build(self):
        self.assertEqual(self.document["openapi"].rsplit(".", 1)[0], "3.1")
        version = re.search(r"project\(lockstock VERSION (\S+)", source("CMakeLists.txt"))[1]
        self.assertEqual(self.document["info"]["version"], version)
        self.assertEqual([s["url"] for s in self.document["servers"]], ["http://127.0.0.1:8080"])

    def test_operations__then_each_has_an_id_of_its_own_a_summary_and_answers(self):
        seen, tags = set(), {t["name"] for t in self.document["tags"]}
        for (method, path), operation in self.contract.operations.items():
            with self.subTest(f"{method} {path}"):
                self.assertNotIn(operation["operationId"], seen)
                seen.add(operation["operationId"])
                self.assertTrue(operation["summary"])
                self.assertLessEqual(set(operation["tags"]), tags)
                statuses = set(map(str, operation["responses"]))
                self.assertTrue([s for s in statuses if s.startswith("2")])
                self.assertIn("default", statuses)
                names = [self.schema.resolve(p) for p in operation.get("parameters", [])]
                self.assertEqual({p["name"] for p in names if p["in"] == "path"}, set(re.findall(r"{(\w+)}", path)))

    def test_paths__then_each_has_only_methods(self):
        for path, item in self.document["paths"].items():
            self.assertLessEqual(set(item), set(METHODS), path)

    def test_examples__then_each_body_has_one_and_it_fits(self):
        for at, node in self.nodes(self.document):
            if not (isinstance(node, dict) and "schema" in node):
                continue
            with self.subTest(at=at):
                given = [node["example"]] if "example" in node else [
                    self.schema.resolve(e)["value"] for e in node.get("examples", {}).values()]
                self.assertTrue(given or "/content/" not in at, "no example")
                self.assertEqual([f for v in given for f in self.schema.faults(node["schema"], v)], [])

    def test_replies__then_every_object_is_closed(self):
        for (method, path) in self.contract.operations:
            for status, response in self.contract.responses(method, path).items():
                for kind, content in response.get("content", {}).items():
                    with self.subTest(f"{method} {path} {status} {kind}"):
                        self.assert_closed(content["schema"])

    def assert_closed(self, schema, inside=False):
        """inside: below allOf the whole is what is closed."""
        schema = self.schema.resolve(schema)
        if "properties" in schema and not inside:
            self.assertIs(schema.get("additionalProperties", schema.get("unevaluatedProperties")), False, schema)
        for part in schema.get("allOf", []):
            self.assert_closed(part, True)
        items = [schema["items"]] if "items" in schema else []
        for part in schema.get("oneOf", []) + list(schema.get("properties", {}).values()) + items:
            self.assert_closed(part)

    def test_codes__then_each_row_of_the_table_is_in_the_file(self):
        answers = {c for m, p in self.contract.operations for r in self.contract.responses(m, p).values()
                   for c in self.contract.codes_of(r)}
        self.assertEqual(set(error_rows()), answers)

    def test_codes__then_status_slug_and_title_are_those_of_the_table(self):
        for (method, path) in self.contract.operations:
            for status, response in self.contract.responses(method, path).items():
                for code in self.contract.codes_of(response):
                    self.assertIn(status, (str(error_rows()[code][0]), "default"), f"{method} {path} {code}")
        for code in error_rows():
            name = code.replace("-", "")
            properties = self.document["components"]["schemas"][name]["properties"]
            example = self.document["components"]["examples"][name]["value"]
            status, slug, title = error_rows()[code]
            self.assertEqual((properties["status"]["const"], properties["type"]["const"]), (status, f"/problems/{slug}"))
            self.assertEqual((example["code"], example["title"]), (code, title))

    def test_routes__then_file_and_service_have_the_same_with_the_same_scopes(self):
        self.assertGreater(len(routes()), 15)
        self.assertEqual(set(routes()), set(self.contract.operations))
        for (method, path), scopes in routes().items():
            with self.subTest(f"{method} {path}"):
                security = self.contract.operations[method, path]["security"]
                if scopes is None:
                    self.assertEqual(security, [])
                    continue
                wanted = scopes | {"admin"} | ({"read"} if method == "GET" else set())
                self.assertEqual({s for row in security for s in row.get("bearer", [])}, wanted)
                self.assertIn({}, security)


if __name__ == "__main__":
    unittest.main(verbosity=2)
