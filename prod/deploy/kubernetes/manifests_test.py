#!/usr/bin/env python3
"""O17: the manifests are rendered by kubectl and hold what manifests.py asks of them.

manifests_test.py KUBECTL PROGRAMS SCRATCH    PROGRAMS is the folder of lockstepd and lockstep-kernel
"""

import copy
import sys

from manifests import SCRATCH, Wrong, judge, named, render


def planted_mistakes(objects, folder):
    """Each must be noticed: a check that nothing fails is none."""
    def pod(changed):
        return named(changed, "Deployment", "lockstepd")["spec"]["template"]["spec"]

    def setting(changed, name, value):
        source = pod(changed)["containers"][0]["envFrom"][0]["configMapRef"]["name"]
        named(changed, "ConfigMap", source)["data"][name] = value

    mistakes = {
        "an unknown field": lambda changed: pod(changed).update(terminationGracePeriod=45),
        "a number as a text": lambda changed: pod(changed).update(terminationGracePeriodSeconds="45"),
        "a grace shorter than the drain": lambda changed: (pod(changed).update(terminationGracePeriodSeconds=15),
                                                           setting(changed, "LOCKSTEP_STOP_LIMIT", "15s")),
        "a limit that is not the pod's": lambda changed: setting(changed, "LOCKSTEP_STOP_LIMIT", "60s"),
        "a replica more than there are": lambda changed: setting(changed, "LOCKSTEP_REPLICAS", "4"),
        "a probe of a port that is not there": lambda changed: pod(changed)["containers"][0]["livenessProbe"]["httpGet"].update(port="web"),
        "no startup probe": lambda changed: pod(changed)["containers"][0].pop("startupProbe"),
        "a misspelt setting": lambda changed: setting(changed, "NATS_UROL", "nats://nats:4222"),
        "plain text in production": lambda changed: setting(changed, "NATS_URL", "nats://nats:4222"),
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
    judge(render("base"), SCRATCH / "base", production=False)
    production = render("production")
    judge(production, SCRATCH / "production", production=True)
    planted = planted_mistakes(production, SCRATCH / "planted")
except Wrong as wrong:
    sys.exit(f"manifests_test: {wrong}")
print(f"manifests_test: base and production hold; {planted} planted mistakes are noticed")
