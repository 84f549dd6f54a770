#!/usr/bin/env python3
"""O17: the chart makes what the manifests of ../kubernetes are, holds what they hold, and refuses values that are none.

chart_test.py KUBECTL PROGRAMS SCRATCH [HELM]    PROGRAMS is the folder of lockstepd and lockstep-kernel; KUBECTL may be empty
chart_test.py schema                             prints lockstep/values.schema.json, made from lockstep/values.yaml

Without HELM the templates are rendered by subset.py, with it by both, and both have to agree.
"""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import yaml

import subset

CHART = Path(__file__).parent / "lockstep"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
PRODUCTION = yaml.safe_load((CHART / "values-production.yaml").read_text())
# Objects of Kubernetes, or of lockstepd's settings: whatever is in them is handed on.
FREE = {"config.settings", "lockstepd.probes.startup", "lockstepd.probes.liveness", "lockstepd.probes.readiness", "lockstepd.resources",
        "lockstepd.disruption", "kernel.probes.startup", "kernel.probes.liveness", "kernel.probes.readiness", "kernel.resources",
        "kernel.disruption"}
TYPES = {bool: "boolean", int: "integer", str: "string"}


def schema_of(values, path=""):
    if path in FREE:
        return {"type": "object", "additionalProperties": {"type": "string"}} if path == "config.settings" else {"type": "object"}
    if isinstance(values, dict):
        inner = {name: schema_of(value, f"{path}.{name}".lstrip(".")) for name, value in values.items()}
        return {"type": "object", "additionalProperties": False, "properties": inner}
    return {"type": TYPES[type(values)], **({"minimum": 0} if type(values) is int else {})}


def schema_text():
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **schema_of(VALUES)}
    schema["properties"]["global"] = {"type": "object"}  # of Helm
    return json.dumps(schema, indent=2) + "\n"


if sys.argv[1:] == ["schema"]:
    sys.exit(print(schema_text(), end=""))

sys.path.insert(0, str(CHART.parent.parent / "kubernetes"))
import manifests  # noqa: E402  (reads the same first three arguments)
from manifests import Wrong, expect  # noqa: E402

SCRATCH = Path(sys.argv[3])
HELM = sys.argv[4] if len(sys.argv) > 4 else ""


def rendered_by_subset(values):
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    scope = {"Values": values, "Chart": {"AppVersion": chart["appVersion"]}, "Release": {"Service": "Helm"}}
    return [each for template in sorted((CHART / "templates").iterdir())
            for each in yaml.safe_load_all(subset.render(template.read_text(), scope)) if each]


def rendered_by_helm(*options):
    done = subprocess.run([HELM, "template", "lockstep", CHART, *options], capture_output=True, text=True)
    expect(done.returncode == 0, f"helm template {' '.join(map(str, options))}: {done.stderr}")
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def by_name(objects):
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def without_digests(objects):
    """Helm writes YAML in a form of its own, and takes the digest of that."""
    return json.loads(re.sub(r'("checksum/\w+": )"[0-9a-f]{64}"', r'\1""', json.dumps(objects)))


def render(name, over, *options):
    objects = rendered_by_subset(subset.merged(VALUES, over))
    if HELM:
        found = differences(*(by_name(without_digests(each)) for each in (objects, rendered_by_helm(*options))))
        expect(not found, f"{name}: Helm renders something else:\n" + "\n".join(found))
    return objects


def differences(one, other, path=""):
    if isinstance(one, dict) and isinstance(other, dict):
        return [line for key in {**one, **other} for line in differences(one.get(key), other.get(key), f"{path}/{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for n, pair in enumerate(zip(one, other)) for line in differences(*pair, f"{path}/{n}")]
    return [] if one == other else [f"{path}: {one!r} and {other!r}"]


def without_what_may_differ(objects):
    """Names with the digest that kustomize appends, the digests that the chart has instead, who made it, and the order of volumes."""
    text = json.dumps(objects)
    for name in ("lockstepd-env", "lockstepd-files", "lockstep-policy"):
        text = re.sub(rf'"{name}-[a-z0-9]{{10}}"', f'"{name}"', text)
    plain = json.loads(text)
    for each in plain:
        each["metadata"].pop("namespace", None)
        for label in ("app.kubernetes.io/part-of", "app.kubernetes.io/managed-by"):
            each["metadata"].get("labels", {}).pop(label, None)
        if not each["metadata"].get("labels"):
            each["metadata"].pop("labels", None)
        if each["kind"] == "ConfigMap":
            each["data"] = {name: value for name, value in each["data"].items() if value}
        if each["kind"] == "Deployment":
            template = each["spec"]["template"]
            annotations = {name: value for name, value in template["metadata"].pop("annotations", {}).items()
                           if not name.startswith("checksum/")}
            if annotations:
                template["metadata"]["annotations"] = annotations
            for label in ("app.kubernetes.io/part-of", "app.kubernetes.io/managed-by"):
                template["metadata"]["labels"].pop(label, None)
            template["spec"]["volumes"].sort(key=lambda volume: volume["name"])
            for container in template["spec"]["containers"]:
                container.pop("imagePullPolicy", None)
                container["volumeMounts"].sort(key=lambda mount: mount["name"])
    return by_name(plain)


def check_agreement(name, objects, overlay):
    found = differences(without_what_may_differ(objects), without_what_may_differ(manifests.render(overlay)))
    expect(not found, f"{name} and the overlay {overlay} differ:\n" + "\n".join(found))


def leaves(values, path=""):
    if isinstance(values, dict) and path not in FREE:
        return {leaf for name, value in values.items() for leaf in leaves(value, f"{path}.{name}".lstrip("."))}
    return {path}


def check_values(text_of_templates):
    """Each value is used, and each that is used is there."""
    asked = subset.paths_in(text_of_templates)
    there = leaves(VALUES)
    unused = {leaf for leaf in there if not any(leaf == path or leaf.startswith(path + ".") for path in asked)}
    expect(not unused, f"no template uses {sorted(unused)}")
    missing = {path for path in asked if not any(leaf == path or leaf.startswith(path + ".") for leaf in there)}
    expect(not missing, f"values.yaml has no {sorted(missing)}")


def check_schema_of_values():
    expect((CHART / "values.schema.json").read_text() == schema_text(),
           "values.schema.json is not that of values.yaml: chart_test.py schema > lockstep/values.schema.json")
    schema = jsonschema.Draft7Validator(json.loads(schema_text()))
    for name, over in (("values.yaml", {}), ("values-production.yaml", PRODUCTION)):
        errors = list(schema.iter_errors(subset.merged(VALUES, over)))
        expect(not errors, f"{name}: {errors and errors[0].message}")
    for over in ({"lockstepd": {"replica": 3}}, {"lockstepd": {"replicas": "three"}}, {"config": {"settings": {"NATS_JS_REPLICAS": 3}}}):
        expect(list(schema.iter_errors(subset.merged(VALUES, over))), f"the schema lets {over} pass")
        if HELM:
            file = SCRATCH / "refused.yaml"
            file.write_text(yaml.safe_dump(over))
            done = subprocess.run([HELM, "template", "lockstep", CHART, "--values", file], capture_output=True, text=True)
            expect(done.returncode != 0 and next(iter(over)) in done.stderr, f"Helm lets {over} pass: {done.stderr}")


def check_files():
    deploy = CHART.parent.parent
    for text, name in ((VALUES["config"]["pools"], "pools.yaml"), (VALUES["config"]["timeouts"], "timeouts.yaml"),
                       (VALUES["kernel"]["policy"], "safety.yaml")):
        expect(text == (deploy / name).read_text(), f"values.yaml has not what {name} has")


def checksum_of(over):
    deployment = manifests.named(rendered_by_subset(subset.merged(VALUES, over)), "Deployment", "lockstepd")
    return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]


def check_roll():
    """Pods are replaced when a setting is, and not when there are to be more of them."""
    expect(checksum_of({"config": {"settings": {"NATS_JS_ACK_WAIT": "31s"}}}) != checksum_of({}), "a setting changes, and pods stay")
    expect(checksum_of({"lockstepd": {"replicas": 5}}) == checksum_of({}), "a replica more replaces all others")


def check_planted(production):
    """Each must be noticed: a check that nothing fails is none."""
    def pod(objects):
        return manifests.named(objects, "Deployment", "lockstepd")["spec"]["template"]["spec"]

    mistakes = {
        "another grace": lambda objects: pod(objects).update(terminationGracePeriodSeconds=50),
        "another probe": lambda objects: pod(objects)["containers"][0]["readinessProbe"].update(periodSeconds=3),
        "no budget": lambda objects: objects.remove(manifests.named(objects, "PodDisruptionBudget", "lockstepd")),
    }
    for name, plant in mistakes.items():
        changed = copy.deepcopy(production)
        plant(changed)
        try:
            check_agreement("planted", changed, "production")
        except Wrong:
            continue
        raise Wrong(f"not noticed: {name}")


try:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    check_values("".join(template.read_text() for template in (CHART / "templates").iterdir()))
    check_schema_of_values()
    check_files()
    check_roll()
    first_look = render("values.yaml", {})
    production = render("values-production.yaml", PRODUCTION, "--values", CHART / "values-production.yaml")
    manifests.judge(first_look, SCRATCH / "base", production=False)
    manifests.judge(production, SCRATCH / "production", production=True)
    if sys.argv[1]:
        check_agreement("values.yaml", first_look, "base")
        check_agreement("values-production.yaml", production, "production")
        check_planted(production)
except (Wrong, subset.Unknown) as wrong:
    sys.exit(f"chart_test: {wrong}")
print("chart_test: the chart holds what the manifests hold" + (", and is what they are" if sys.argv[1] else ""))
if not sys.argv[1]:
    print("chart_test: NOT COMPARED with the manifests: there is no kubectl")
print("chart_test: rendered by Helm, too" if HELM else "chart_test: NOT RENDERED BY HELM, which is not here: by subset.py alone")
