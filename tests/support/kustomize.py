"""Renders what our overlays use of kustomize, for machines without kubectl: resources (files and folders), patches by
path (strategic merge), namespace, labels with includeTemplates, images. Anything else in a kustomization is refused, so
that a test never judges half a rendering.
"""

import copy
import os

import yaml

KNOWN = {"apiVersion", "kind", "resources", "patches", "namespace", "labels", "images"}
# Lists of objects that are merged by a key; every other list is replaced.
MERGE_KEYS = {"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath"}
PORT_KEYS = ("containerPort", "port")
CLUSTER_WIDE = {"Namespace"}


class Unsupported(Exception):
    pass


def render(folder):
    """The resources of the kustomization in folder, as a list of dicts."""
    rules = load(os.path.join(folder, "kustomization.yaml"))[0]
    if set(rules) - KNOWN:
        raise Unsupported(f"{folder}: {sorted(set(rules) - KNOWN)}")
    resources = []
    for name in rules.get("resources", []):
        path = os.path.join(folder, name)
        resources += render(path) if os.path.isdir(path) else load(path)
    for patch in rules.get("patches", []):
        apply_patch(resources, folder, patch)
    for resource in resources:
        transform(resource, rules)
    return resources


def load(path):
    with open(path) as file:
        return [document for document in yaml.safe_load_all(file) if document]


def apply_patch(resources, folder, patch):
    if set(patch) != {"path"}:
        raise Unsupported(f"{folder}: patch {patch}")
    for change in load(os.path.join(folder, patch["path"])):
        wanted = identity(change)
        targets = [index for index, resource in enumerate(resources) if identity(resource) == wanted]
        if len(targets) != 1:
            raise Unsupported(f"{folder}: {patch['path']} meets {len(targets)} resources")
        resources[targets[0]] = merged(resources[targets[0]], change)


def identity(resource):
    return resource["apiVersion"], resource["kind"], resource["metadata"]["name"]


def merged(old, new, field=None):
    if isinstance(old, dict) and isinstance(new, dict):
        result = dict(old)
        for name, value in new.items():
            if name.startswith("$"):
                raise Unsupported(name)
            result[name] = merged(old.get(name), value, name)
            if value is None:
                del result[name]
        return result
    if isinstance(old, list) and isinstance(new, list):
        return merged_list(old, new, field)
    return copy.deepcopy(new)


def merged_list(old, new, field):
    key = MERGE_KEYS.get(field)
    if field == "ports" and old:
        key = next((name for name in PORT_KEYS if name in old[0]), None)
    if key is None:
        return copy.deepcopy(new)
    result = {item[key]: item for item in old}
    for item in new:
        result[item[key]] = merged(result.get(item[key]), item)
    return list(result.values())


def transform(resource, rules):
    if rules.get("namespace") and resource["kind"] not in CLUSTER_WIDE:
        resource["metadata"]["namespace"] = rules["namespace"]
    for label in rules.get("labels", []):
        if set(label) - {"pairs", "includeTemplates"}:
            raise Unsupported(f"labels {sorted(label)}")
        resource["metadata"].setdefault("labels", {}).update(label["pairs"])
        template = resource.get("spec", {}).get("template")
        if template and label.get("includeTemplates"):
            template["metadata"].setdefault("labels", {}).update(label["pairs"])
    for image in rules.get("images", []):
        for container in containers(resource):
            if container["image"].split(":")[0] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"


def containers(resource):
    pod = resource.get("spec", {}).get("template", {}).get("spec", {})
    return pod.get("initContainers", []) + pod.get("containers", [])
