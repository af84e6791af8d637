"""Both overlays rendered, and what must hold in the cluster read from the result."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
from tests.support import kustomize

OVERLAYS = ("local", "gke")
DRAIN_SECONDS = 10


def folder_of(overlay):
    return os.path.join(ROOT, "k8s", "overlays", overlay)


def ours(overlay):
    return kustomize.render(folder_of(overlay))


@functools.lru_cache
def theirs(overlay):
    """The same by kubectl or kustomize, None when neither is here."""
    for command in (["kubectl", "kustomize"], ["kustomize", "build"]):
        if not shutil.which(command[0]):
            continue
        done = subprocess.run(command + [folder_of(overlay)], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return [document for document in yaml.safe_load_all(done.stdout) if document]
    return None


def settings():
    """Names of service/config/settings.def; those of secrets also as _FILE."""
    with open(os.path.join(ROOT, "service", "config", "settings.def")) as file:
        rows = re.findall(r'^SETTING_(\w+)\(\w+, "(\w+)"', file.read(), re.M)
    return {name for _, name in rows} | {name + "_FILE" for kind, name in rows if kind == "SECRET"}


class Overlay:
    """The rendered resources by kind and name."""

    def __init__(self, name):
        self.all = theirs(name) or ours(name)

    def get(self, kind, name="lockstock"):
        found = [one for one in self.all if one["kind"] == kind and one["metadata"]["name"] == name]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} of {kind} {name}")
        return found[0]

    def pod(self):
        return self.get("Deployment")["spec"]["template"]["spec"]

    def service_container(self):
        return self.pod()["containers"][0]


class Rendering(unittest.TestCase):
    def test_our_renderer__says_what_kubectl_says(self):
        for overlay in OVERLAYS:
            reference = theirs(overlay)
            if reference is None:
                self.skipTest("neither kubectl nor kustomize is here")
            self.assertEqual(by_identity(ours(overlay)), by_identity(reference))

    def test_unknown_rule__refused(self):
        with self.assertRaises(kustomize.Unsupported):
            kustomize.apply_patch([], ".", {"path": "x", "target": {}})


def by_identity(resources):
    return {kustomize.identity(one): one for one in resources}


class Rules:
    """What holds in every overlay."""

    def setUp(self):
        self.overlay = Overlay(self.overlay_name)

    def test_everything__in_one_namespace(self):
        names = {one["metadata"].get("namespace") for one in self.overlay.all if one["kind"] != "Namespace"}
        self.assertEqual(names, {"lockstock"})

    def test_rollout__new_pod_first(self):
        strategy = self.overlay.get("Deployment")["spec"]["strategy"]
        self.assertEqual(strategy, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})

    def test_disruption__one_pod_at_a_time(self):
        budget = self.overlay.get("PodDisruptionBudget")["spec"]
        self.assertEqual(budget["maxUnavailable"], 1)
        self.assertNotIn("minAvailable", budget)
        self.assert_selects_pods(budget["selector"]["matchLabels"])

    def test_selectors__meet_the_pods(self):
        self.assert_selects_pods(self.overlay.get("Deployment")["spec"]["selector"]["matchLabels"])
        self.assert_selects_pods(self.overlay.get("Service")["spec"]["selector"])
        self.assert_selects_pods(self.overlay.get("NetworkPolicy")["spec"]["podSelector"]["matchLabels"])

    def assert_selects_pods(self, labels):
        self.assertTrue(labels)
        pod_labels = self.overlay.get("Deployment")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(labels.items(), pod_labels.items())

    def test_probes__right_paths_on_a_named_port(self):
        container = self.overlay.service_container()
        for probe, path in (("startupProbe", "/healthz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
            self.assertEqual(container[probe]["httpGet"], {"path": path, "port": "http"})
        self.assertIn({"name": "http", "containerPort": 8080}, container["ports"])
        self.assertEqual(self.overlay.get("Service")["spec"]["ports"][0]["targetPort"], "http")

    def test_liveness__slower_than_readiness(self):
        patience = {probe: self.overlay.service_container()[probe]["periodSeconds"] *
                    self.overlay.service_container()[probe]["failureThreshold"] for probe in ("readinessProbe", "livenessProbe")}
        self.assertLess(patience["readinessProbe"], patience["livenessProbe"])

    def test_grace__fits_pre_stop_and_drain(self):
        pre_stop = self.overlay.service_container()["lifecycle"]["preStop"]["exec"]["command"]
        self.assertEqual(pre_stop[0], "sleep")
        readiness = self.overlay.service_container()["readinessProbe"]["periodSeconds"]
        self.assertGreaterEqual(int(pre_stop[1]), readiness)
        self.assertGreaterEqual(self.overlay.pod()["terminationGracePeriodSeconds"], int(pre_stop[1]) + DRAIN_SECONDS)

    def test_pods__restricted(self):
        context = self.overlay.pod()["securityContext"]
        self.assertIs(context["runAsNonRoot"], True)
        self.assertGreater(context["runAsUser"], 0)
        self.assertEqual(context["seccompProfile"]["type"], "RuntimeDefault")
        self.assertIs(self.overlay.pod()["automountServiceAccountToken"], False)
        for container in kustomize.containers(self.overlay.get("Deployment")):
            own = container["securityContext"]
            self.assertIs(own["readOnlyRootFilesystem"], True)
            self.assertIs(own["allowPrivilegeEscalation"], False)
            self.assertEqual(own["capabilities"]["drop"], ["ALL"])

    def test_account__without_token(self):
        self.assertIs(self.overlay.get("ServiceAccount")["automountServiceAccountToken"], False)
        self.assertEqual(self.overlay.pod()["serviceAccountName"], "lockstock")

    def test_migration__before_the_service_from_the_same_image(self):
        migrate = self.overlay.pod()["initContainers"][0]
        self.assertEqual(migrate["args"], ["migrate"])
        self.assertEqual(migrate["image"], self.overlay.service_container()["image"])
        self.assertEqual(migrate["envFrom"], self.overlay.service_container()["envFrom"])
        self.assertEqual(migrate["volumeMounts"], self.overlay.service_container()["volumeMounts"])
        self.assertNotIn(":latest", migrate["image"])
        self.assertIn(":", migrate["image"])

    def test_resources__asked_for_and_memory_bounded(self):
        for container in kustomize.containers(self.overlay.get("Deployment")):
            self.assertLessEqual({"cpu", "memory"}, set(container["resources"]["requests"]))
            self.assertIn("memory", container["resources"]["limits"])

    def test_settings__known_to_the_service(self):
        known = settings()
        self.assertIn("LOCKSTOCK_MYSQL_URL_FILE", known)
        names = set(self.overlay.get("ConfigMap")["data"])
        names |= {one["name"] for one in self.overlay.service_container().get("env", [])}
        self.assertEqual(names - known, set())

    def test_service_links__off(self):
        """Else the cluster sets LOCKSTOCK_PORT, which the service refuses as unknown."""
        self.assertIs(self.overlay.pod()["enableServiceLinks"], False)

    def test_secrets__only_in_the_secret(self):
        for name, value in self.overlay.get("ConfigMap")["data"].items():
            self.assertNotRegex(value, r"://|password", name)
            self.assertNotIn(name, ("LOCKSTOCK_MYSQL_URL", "LOCKSTOCK_REDIS_URL"))
        for one in self.overlay.service_container().get("env", []):
            self.assertNotRegex(one.get("value", ""), r"://")
        secret = next(one for one in self.overlay.pod()["volumes"] if one["name"] == "secrets")
        self.assertEqual(secret["secret"], {"secretName": "lockstock", "defaultMode": 0o440})

    def test_secret_files__lie_where_the_settings_say(self):
        mount = self.overlay.service_container()["volumeMounts"][0]["mountPath"]
        data = self.overlay.get("ConfigMap")["data"]
        for name in ("LOCKSTOCK_MYSQL_URL_FILE", "LOCKSTOCK_REDIS_URL_FILE", "LOCKSTOCK_TOKENS_FILE"):
            self.assertEqual(os.path.dirname(data[name]), mount)

    def test_network__only_the_port_in_and_the_stores_out(self):
        policy = self.overlay.get("NetworkPolicy")["spec"]
        self.assertEqual(sorted(policy["policyTypes"]), ["Egress", "Ingress"])
        self.assertEqual([one["port"] for one in policy["ingress"][0]["ports"]], [8080])
        allowed = {one["port"] for rule in policy["egress"] for one in rule["ports"]}
        self.assertLessEqual({53, 3306, 6379}, allowed)


class Local(Rules, unittest.TestCase):
    overlay_name = "local"

    def test_service__on_a_node_port(self):
        service = self.overlay.get("Service")["spec"]
        self.assertEqual(service["type"], "NodePort")
        self.assertEqual([one["nodePort"] for one in service["ports"]], [30080])

    def test_stores__are_there_under_the_names_of_the_urls(self):
        secret = self.overlay.get("Secret")["stringData"]
        for name, url in (("mysql", secret["mysql-url"]), ("redis", secret["redis-url"])):
            port = self.overlay.get("Service", name)["spec"]["ports"][0]["port"]
            self.assertTrue(re.search(rf"[@/]{name}:{port}\b", url), url)
        self.assertEqual(self.overlay.get("Deployment")["spec"]["replicas"], 1)

    def test_mysql_password__the_one_of_the_url(self):
        secret = self.overlay.get("Secret")["stringData"]
        self.assertIn(f":{secret['mysql-password']}@", secret["mysql-url"])

    def test_tokens__hashes_only_and_readable(self):
        tokens = json.loads(self.overlay.get("Secret")["stringData"]["tokens.json"])["tokens"]
        self.assertTrue(tokens)
        for token in tokens:
            self.assertEqual(set(token), {"name", "sha256", "scopes", "prefixes"})
            self.assertRegex(token["sha256"], "^[0-9a-f]{64}$")


class Gke(Rules, unittest.TestCase):
    overlay_name = "gke"

    def test_autoscaler__one_to_three_at_sixty_percent(self):
        scaler = self.overlay.get("HorizontalPodAutoscaler")["spec"]
        self.assertEqual((scaler["minReplicas"], scaler["maxReplicas"]), (1, 3))
        self.assertEqual(scaler["scaleTargetRef"], {"apiVersion": "apps/v1", "kind": "Deployment", "name": "lockstock"})
        self.assertEqual(scaler["metrics"][0]["resource"],
                         {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}})
        self.assertEqual(scaler["behavior"]["scaleUp"]["stabilizationWindowSeconds"], 30)
        self.assertEqual(scaler["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 300)

    def test_deployment__leaves_replicas_to_the_autoscaler(self):
        self.assertNotIn("replicas", self.overlay.get("Deployment")["spec"])

    def test_secret__never_in_the_overlay(self):
        self.assertEqual([one for one in self.overlay.all if one["kind"] == "Secret"], [])

    def test_namespace__enforces_the_restricted_profile(self):
        labels = self.overlay.get("Namespace")["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "restricted")


if __name__ == "__main__":
    unittest.main()
