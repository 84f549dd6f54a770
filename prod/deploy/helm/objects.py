"""What the objects that a cluster is given are held to (O17): they have fields that Kubernetes knows, belong together, and give lockstepd
an environment that it takes, with a drain that ends before the pod is killed.

The first argument of a test that uses this is PROGRAMS, the folder of lockstepd and lockstep-kernel.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fields import faults_of

PROGRAMS = Path(sys.argv[1])


class Wrong(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Wrong(text)


def by_kind(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def named(objects, kind, name):
    found = [each for each in by_kind(objects, kind) if each["metadata"]["name"] == name]
    expect(len(found) == 1, f"{len(found)} objects are {kind} {name}")
    return found[0]


def check_fields(objects):
    for each in objects:
        found = faults_of(each)
        expect(not found, f"{each['metadata']['name']}: {'; '.join(found)}")


def check_pod(name, pod, objects):
    expect(pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0, f"{name} may run as root")
    expect(pod["automountServiceAccountToken"] is False, f"{name} is given a token")
    expect(pod["enableServiceLinks"] is False, f"{name}: variables such as NATS_PORT come from services")
    for container in pod["containers"]:
        rights = container["securityContext"]
        expect(rights["readOnlyRootFilesystem"] and rights["capabilities"]["drop"] == ["ALL"]
               and rights["allowPrivilegeEscalation"] is False, f"{name} may do too much: {rights}")
        expect((PROGRAMS / container["command"][0]).exists(), f"there is no program {container['command'][0]}")
        expect("memory" in container["resources"]["limits"], f"{name} has no limit of memory")
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            expect(probe in container, f"{name} has no {probe}")
            asked = container[probe].get("httpGet") or container[probe].get("tcpSocket") or container[probe].get("grpc")
            expect(asked["port"] in ports or asked["port"] in ports.values(), f"{name}, {probe}: port {asked['port']} is none of its own")
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        expect(mounted == {volume["name"] for volume in pod["volumes"]}, f"{name}: volumes and mounts differ")
    for volume in pod["volumes"]:
        if "configMap" in volume:
            named(objects, "ConfigMap", volume["configMap"]["name"])


def check_relations(objects):
    pods = {each["metadata"]["name"]: each["spec"]["template"] for each in by_kind(objects, "Deployment")}
    expect(set(pods) == {"lockstepd", "lockstep-kernel"}, f"deployments: {sorted(pods)}")
    for name, template in pods.items():
        check_pod(name, template["spec"], objects)
        named(objects, "ServiceAccount", template["spec"]["serviceAccountName"])
        for kind, selector in (("Deployment", ("selector", "matchLabels")), ("Service", ("selector",)),
                               ("PodDisruptionBudget", ("selector", "matchLabels"))):
            labels = named(objects, kind, name)["spec"]
            for key in selector:
                labels = labels[key]
            expect(labels.items() <= template["metadata"]["labels"].items(), f"{kind} {name} selects no pod of {name}")
    daemon = pods["lockstepd"]["spec"]["containers"][0]
    for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        expect(daemon[probe]["httpGet"]["path"] == path, f"{probe} asks {daemon[probe]['httpGet']['path']}")


def environment_of(objects):
    daemon = named(objects, "Deployment", "lockstepd")["spec"]["template"]["spec"]["containers"][0]
    settings = {}
    for source in daemon["envFrom"]:
        settings |= named(objects, "ConfigMap", source["configMapRef"]["name"])["data"]
    return settings


def write_files(objects, folder):
    """What the pods find in /etc/lockstep and in the secrets, below a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for place in ("etc/lockstep", "run/secrets/lockstep/tls", "run/secrets/lockstep/credentials"):
        (folder / place).mkdir(parents=True)
    for each in by_kind(objects, "ConfigMap"):
        for name, text in each["data"].items():
            if name.endswith(".yaml"):
                (folder / "etc/lockstep" / name).write_text(text)
    tls = folder / "run/secrets/lockstep/tls"
    for name in ("lockstepd", "kernel"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                        "-subj", f"/CN={name}", "-keyout", tls / f"{name}.key", "-out", tls / f"{name}.pem"],
                       check=True, capture_output=True)
    shutil.copy(tls / "lockstepd.pem", tls / "ca.pem")
    (folder / "run/secrets/lockstep/credentials/nats-password").write_text("secret\n")
    (folder / "run/secrets/lockstep/credentials/redis-url").write_text("rediss://lockstepd:secret@redis:6379\n")


def checked_by_lockstepd(settings, folder):
    """The exit code of `lockstepd --check` with that environment, and what it says."""
    environment = {key: re.sub(r"^/(etc|run)/", rf"{folder}/\1/", value) for key, value in settings.items()}
    done = subprocess.run([PROGRAMS / "lockstepd", "--check"], capture_output=True, text=True,
                          env={**environment, "PATH": os.environ["PATH"]})
    return done.returncode, done.stdout + done.stderr


def check_environment(objects, folder):
    settings = environment_of(objects)
    status, said = checked_by_lockstepd(settings, folder)
    expect(status == 0, f"lockstepd does not take its environment:\n{said}")
    expect("warning:" not in said, f"lockstepd wonders about its environment:\n{said}")
    expect(secret_paths(settings) <= mounted_files(objects), f"not mounted: {secret_paths(settings) - mounted_files(objects)}")


def secret_paths(settings):
    return {value for value in settings.values() if value.startswith("/run/secrets/lockstep/tls/")}


def mounted_files(objects):
    pod = named(objects, "Deployment", "lockstepd")["spec"]["template"]["spec"]
    places = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    return {f"{places[volume['name']]}/{item['path']}" for volume in pod["volumes"] if "secret" in volume
            for item in volume["secret"].get("items", [])}


def check_grace(objects, folder):
    """The kubelet kills no drain: what the pod is given is what lockstepd knows of, and lockstepd refuses a drain that takes longer."""
    pod = named(objects, "Deployment", "lockstepd")["spec"]["template"]["spec"]
    settings = environment_of(objects)
    grace, limit, drain = pod["terminationGracePeriodSeconds"], settings["LOCKSTEP_STOP_LIMIT"], settings["LOCKSTEP_SHUTDOWN_GRACE"]
    expect(limit == f"{grace}s", f"terminationGracePeriodSeconds is {grace}, LOCKSTEP_STOP_LIMIT {limit}")
    engines = len(settings["LOCKSTEP_ROLE"].split(","))
    expect(grace > engines * int(drain.removesuffix("s")), f"{engines} engines drain for {drain} each, and the pod is killed after {grace} s")
    status, said = checked_by_lockstepd({**settings, "LOCKSTEP_SHUTDOWN_GRACE": limit}, folder)
    expect(status == 2 and "LOCKSTEP_S" in said, f"a drain as long as the pod's grace is not refused: {status}\n{said}")


def check_replicas(objects):
    """The alert that a replica is missing goes by how many there are at least."""
    scaled = [found["spec"]["minReplicas"] for found in objects if found["kind"] == "HorizontalPodAutoscaler"]
    least = scaled[0] if scaled else named(objects, "Deployment", "lockstepd")["spec"]["replicas"]
    said = environment_of(objects)["LOCKSTEP_REPLICAS"]
    expect(said == str(least), f"there are {least} replicas at least, and LOCKSTEP_REPLICAS is {said}")


def check_kernel(objects, folder):
    container = named(objects, "Deployment", "lockstep-kernel")["spec"]["template"]["spec"]["containers"][0]
    words = [re.sub(r"^/(etc|run)/", rf"{folder}/\1/", word) for word in container["command"][1:] + container.get("args", [])]
    words[words.index("--listen") + 1] = "127.0.0.1:0"
    with subprocess.Popen([PROGRAMS / "lockstep-kernel", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as kernel:
        first = kernel.stdout.readline()
        kernel.terminate()
        rest = kernel.stdout.read()
    expect(kernel.returncode == 0 and "on port" in first, f"lockstep-kernel does not serve:\n{first}{rest}")


def check_production(objects):
    target = named(objects, "HorizontalPodAutoscaler", "lockstepd")["spec"]["scaleTargetRef"]
    scaled = named(objects, target["kind"], target["name"])
    expect("replicas" not in scaled["spec"], "every upgrade would undo what the autoscaler says")
    for name in ("lockstepd", "lockstep-kernel"):
        policy = named(objects, "NetworkPolicy", name)["spec"]
        labels = named(objects, "Deployment", name)["spec"]["template"]["metadata"]["labels"]
        expect(policy["podSelector"]["matchLabels"].items() <= labels.items(), f"NetworkPolicy {name} selects no pod")
        expect(set(policy["policyTypes"]) == {"Ingress", "Egress"}, f"NetworkPolicy {name} lets through what it does not name")
    allowed = {port["port"] for rule in named(objects, "NetworkPolicy", "lockstepd")["spec"]["egress"] for port in rule["ports"]}
    settings = environment_of(objects)
    for address in (settings["NATS_URL"], settings["SAFETY_KERNEL_ADDR"]):
        expect(int(address.rsplit(":", 1)[1]) in allowed, f"{address} cannot be reached")
    expect(settings["CORDUM_ENV"] == "production", "it is not production mode")


def judge(objects, folder, production):
    check_fields(objects)
    check_relations(objects)
    write_files(objects, folder)
    check_environment(objects, folder)
    check_grace(objects, folder)
    check_replicas(objects)
    check_kernel(objects, folder)
    check_image(objects)
    if production:
        check_production(objects)


def check_image(objects):
    """O16: the image of the Dockerfile is one that the pods can run; ./dev packages runs what is in it."""
    text = (Path(__file__).parent.parent.parent / "packaging/Dockerfile").read_text().replace("\\\n", " ")
    last = text[text.rindex("\nFROM "):]
    user = re.search(r"(?m)^USER (\d+):(\d+)$", last)
    packages = set(re.findall(r"/packages/([a-z-]+)_\*\.deb", last))
    health = json.loads(re.search(r"(?m)^HEALTHCHECK .*CMD (\[.*\])$", last)[1])
    expect(subprocess.run([PROGRAMS / health[0], *health[1:], "--help"], capture_output=True).returncode == 0, f"HEALTHCHECK runs {health}")
    for each in by_kind(objects, "Deployment"):
        pod = each["spec"]["template"]["spec"]
        rights = pod["securityContext"]
        expect(user and (rights["runAsUser"], rights["runAsGroup"]) == (int(user[1]), int(user[2])), "the image has another user than the pods")
        expect(pod["containers"][0]["command"][0] in packages, f"the image has no {pod['containers'][0]['command'][0]}")
