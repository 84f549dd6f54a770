#!/usr/bin/env python3
"""O17: the objects that the chart makes hold what objects.py asks of them, and the chart refuses values that are none.

chart_test.py PROGRAMS SCRATCH [HELM]    PROGRAMS is the folder of lockstepd and lockstep-kernel
chart_test.py schema                     prints lockstep/values.schema.json, made from lockstep/values.yaml

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
    groups = schema.pop("properties")
    lines = ",\n".join(f'  "{name}": {json.dumps(group)}' for name, group in groups.items())
    return json.dumps(schema)[:-1] + ', "properties": {\n' + lines + "\n}}\n"


if sys.argv[1:] == ["schema"]:
    sys.exit(print(schema_text(), end=""))

from objects import Wrong, expect, judge, named  # noqa: E402  (reads the same first argument)

SCRATCH = Path(sys.argv[2])
HELM = sys.argv[3] if len(sys.argv) > 3 else ""


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
    deployment = named(rendered_by_subset(subset.merged(VALUES, over)), "Deployment", "lockstepd")
    return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]


def check_roll():
    """Pods are replaced when a setting is, and not when there are to be more of them."""
    expect(checksum_of({"config": {"settings": {"NATS_JS_ACK_WAIT": "31s"}}}) != checksum_of({}), "a setting changes, and pods stay")
    expect(checksum_of({"lockstepd": {"replicas": 5}}) == checksum_of({}), "a replica more replaces all others")


def check_planted(objects, folder):
    """Each must be noticed: a check that nothing fails is none."""
    def pod(changed):
        return named(changed, "Deployment", "lockstepd")["spec"]["template"]["spec"]

    def setting(changed, name, value):
        named(changed, "ConfigMap", "lockstepd-env")["data"][name] = value

    mistakes = {
        "an unknown field": lambda changed: pod(changed).update(terminationGracePeriod=45),
        "a field that is missing": lambda changed: pod(changed)["containers"][0]["ports"][0].pop("containerPort"),
        "a number as a text": lambda changed: pod(changed).update(terminationGracePeriodSeconds="45"),
        "an object as a list": lambda changed: named(changed, "Deployment", "lockstepd")["spec"].update(strategy=[]),
        "an old version of a kind": lambda changed: named(changed, "HorizontalPodAutoscaler", "lockstepd").update(apiVersion="autoscaling/v1"),
        "an unknown kind": lambda changed: named(changed, "NetworkPolicy", "lockstepd").update(kind="NetworkPolice"),
        "a grace shorter than the drain": lambda changed: (pod(changed).update(terminationGracePeriodSeconds=15),
                                                           setting(changed, "LOCKSTEP_STOP_LIMIT", "15s")),
        "a limit that is not the pod's": lambda changed: setting(changed, "LOCKSTEP_STOP_LIMIT", "60s"),
        "a replica more than there are": lambda changed: setting(changed, "LOCKSTEP_REPLICAS", "4"),
        "a probe of a port that is not there": lambda changed: pod(changed)["containers"][0]["livenessProbe"]["httpGet"].update(port="web"),
        "no startup probe": lambda changed: pod(changed)["containers"][0].pop("startupProbe"),
        "a misspelt setting": lambda changed: setting(changed, "NATS_UROL", "nats://nats:4222"),
        "plain text in production": lambda changed: setting(changed, "NATS_URL", "nats://nats:4222"),
        "no budget": lambda changed: changed.remove(named(changed, "PodDisruptionBudget", "lockstepd")),
        "a budget for nobody": lambda changed: named(changed, "PodDisruptionBudget", "lockstepd")["spec"]["selector"].update(
            matchLabels={"app.kubernetes.io/name": "lockstep"}),
        "a program that the image lacks": lambda changed: pod(changed)["containers"][0].update(command=["lockstep-worker"]),
        "root": lambda changed: pod(changed)["securityContext"].update(runAsUser=0),
    }
    for name, plant in mistakes.items():
        changed = copy.deepcopy(objects)
        plant(changed)
        try:
            judge(changed, folder, production=True)
        except Wrong:
            continue
        raise Wrong(f"not noticed: {name}")
    return len(mistakes)


try:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    check_values("".join(template.read_text() for template in (CHART / "templates").iterdir()))
    check_schema_of_values()
    check_files()
    check_roll()
    first_look = render("values.yaml", {})
    production = render("values-production.yaml", PRODUCTION, "--values", CHART / "values-production.yaml")
    judge(first_look, SCRATCH / "base", production=False)
    judge(production, SCRATCH / "production", production=True)
    planted = check_planted(production, SCRATCH / "planted")
except (Wrong, subset.Unknown) as wrong:
    sys.exit(f"chart_test: {wrong}")
print(f"chart_test: the chart's objects hold, with both files of values; {planted} planted mistakes are noticed")
print("chart_test: rendered by Helm, too" if HELM else "chart_test: NOT RENDERED BY HELM, which is not here: by subset.py alone")
