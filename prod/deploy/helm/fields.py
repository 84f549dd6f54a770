"""The fields of Kubernetes 1.32 that the chart uses, and a check that an object has no other field, each of the right type.

A key that ends in `!` is required; a list holds objects of its one element; a text that is not the name of a type is the only value.
"""

TEXT, NUMBER, TRUTH, PORT = "text", "number", "truth", "port"  # a port is a number, or the name of one
IS = {TEXT: lambda value: isinstance(value, str), NUMBER: lambda value: type(value) is int, TRUTH: lambda value: isinstance(value, bool),
      PORT: lambda value: type(value) in (int, str)}
TEXTS = {"*": TEXT}
LABELS = {"matchLabels!": TEXTS}

PROBE = {"httpGet": {"path": TEXT, "port!": PORT}, "tcpSocket": {"port!": PORT}, "grpc": {"port!": NUMBER},
         "periodSeconds": NUMBER, "timeoutSeconds": NUMBER, "failureThreshold": NUMBER}
CONTAINER = {
    "name!": TEXT, "image!": TEXT, "imagePullPolicy": TEXT, "command": [TEXT], "args": [TEXT],
    "envFrom": [{"configMapRef!": {"name!": TEXT}}],
    "env": [{"name!": TEXT, "valueFrom!": {"fieldRef!": {"fieldPath!": TEXT}}}],
    "ports": [{"name": TEXT, "containerPort!": NUMBER}],
    "startupProbe": PROBE, "livenessProbe": PROBE, "readinessProbe": PROBE,
    "resources": {"requests": TEXTS, "limits": TEXTS},
    "securityContext": {"allowPrivilegeEscalation": TRUTH, "readOnlyRootFilesystem": TRUTH, "capabilities": {"drop": [TEXT]}},
    "volumeMounts": [{"name!": TEXT, "mountPath!": TEXT, "readOnly": TRUTH}],
}
POD = {
    "serviceAccountName": TEXT, "automountServiceAccountToken": TRUTH, "enableServiceLinks": TRUTH, "terminationGracePeriodSeconds": NUMBER,
    "securityContext": {"runAsNonRoot": TRUTH, "runAsUser": NUMBER, "runAsGroup": NUMBER, "fsGroup": NUMBER, "seccompProfile": {"type!": TEXT}},
    "topologySpreadConstraints": [{"maxSkew!": NUMBER, "topologyKey!": TEXT, "whenUnsatisfiable!": TEXT, "labelSelector": LABELS}],
    "containers!": [CONTAINER],
    "volumes": [{"name!": TEXT, "configMap": {"name!": TEXT},
                 "secret": {"secretName!": TEXT, "defaultMode": NUMBER, "items": [{"key!": TEXT, "path!": TEXT}]}}],
}
PEERS = [{"podSelector": LABELS, "namespaceSelector": LABELS}]
PORTS = [{"protocol": TEXT, "port": PORT}]
KINDS = {
    "ConfigMap": {"apiVersion!": "v1", "data": TEXTS},
    "ServiceAccount": {"apiVersion!": "v1", "automountServiceAccountToken": TRUTH},
    "Service": {"apiVersion!": "v1", "spec!": {"clusterIP": TEXT, "selector": TEXTS,
                "ports": [{"name": TEXT, "port!": NUMBER, "targetPort": PORT, "appProtocol": TEXT}]}},
    "Deployment": {"apiVersion!": "apps/v1", "spec!": {
        "replicas": NUMBER, "selector!": LABELS, "strategy": {"rollingUpdate": {"maxSurge": PORT, "maxUnavailable": PORT}},
        "template!": {"metadata": {"labels": TEXTS, "annotations": TEXTS}, "spec!": POD}}},
    "PodDisruptionBudget": {"apiVersion!": "policy/v1", "spec!": {
        "minAvailable": PORT, "maxUnavailable": PORT, "unhealthyPodEvictionPolicy": TEXT, "selector": LABELS}},
    "NetworkPolicy": {"apiVersion!": "networking.k8s.io/v1", "spec!": {
        "podSelector!": LABELS, "policyTypes": [TEXT], "ingress": [{"from": PEERS, "ports": PORTS}], "egress": [{"to": PEERS, "ports": PORTS}]}},
    "HorizontalPodAutoscaler": {"apiVersion!": "autoscaling/v2", "spec!": {
        "scaleTargetRef!": {"apiVersion": "apps/v1", "kind!": TEXT, "name!": TEXT}, "minReplicas": NUMBER, "maxReplicas!": NUMBER,
        "metrics": [{"type!": "Resource", "resource!": {"name!": TEXT, "target!": {"type!": TEXT, "averageUtilization": NUMBER}}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": NUMBER,
                                   "policies": [{"type!": TEXT, "value!": NUMBER, "periodSeconds!": NUMBER}]}}}},
}


def faults(value, shape, at=""):
    """A line for each field of a value that Kubernetes would refuse."""
    if isinstance(shape, str):
        return [] if IS.get(shape, shape.__eq__)(value) else [f"{at} is {value!r}, not {shape}"]
    if type(value) is not type(shape):
        return [f"{at} is {value!r}"]
    if isinstance(shape, list):
        return [line for n, each in enumerate(value) for line in faults(each, shape[0], f"{at}[{n}]")]
    known = {name.rstrip("!"): inner for name, inner in shape.items()}
    missing = [f"{at} has no {name[:-1]}" for name in shape if name.endswith("!") and name[:-1] not in value]
    return missing + [line for name, inner in value.items() for line in (
        faults(inner, known.get(name, known.get("*")), f"{at}.{name}") if name in known or "*" in known else [f"there is no {at}.{name}"])]


def faults_of(each):
    shape = KINDS.get(each.get("kind"))
    meta = {"kind!": TEXT, "metadata!": {"name!": TEXT, "labels": TEXTS}}
    return faults(each, {**shape, **meta}, each["kind"]) if shape else [f"there is no kind {each.get('kind')}"]
