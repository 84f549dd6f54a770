#!/usr/bin/env python3
"""K3: builds the Debian packages of the programs, looks into them, installs them in a folder, runs what is there (the whole
deployment among it, on real servers), removes and purges them, and finds nothing left.

deb_test.py BUILD SCRATCH

The folder has no other packages, so dependencies are read and not followed: `./dev packages` installs in a root that has all.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

BUILD, SCRATCH = Path(sys.argv[1]), Path(sys.argv[2])
ROOT = SCRATCH / "root"
# liblockstep-dev is built by ./dev packages only: what is in it is tried by prod_consumer_test.
PACKAGES = {"lockstep", "lockstep-rehearsal", "lockstepd", "lockstep-front", "lockstep-kernel", "lockstep-worker", "lockstepctl"}
STARTED = time.monotonic()
SCENARIO = "usr/share/lockstep/scenarios/both-worlds/jobs-run-once.json"


def fail(text):
    sys.exit(f"deb_test: {text}")


def told(what):
    print(f"{time.monotonic() - STARTED:6.1f} s  {what}", flush=True)


def run(*command, may_fail=False, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0 and not may_fail:
        fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def answer_of(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    components = ";".join(f"{name};{name}-debian" for name in sorted(PACKAGES))
    run("cpack", "-G", "DEB", "-B", SCRATCH / "made", "-D", f"CPACK_COMPONENTS_ALL={components}",
        "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=zstd", cwd=BUILD)
    shutil.rmtree(SCRATCH / "made" / "_CPack_Packages")
    debs = {path.name.split("_")[0]: path for path in (SCRATCH / "made").glob("*.deb")}
    if set(debs) != PACKAGES:
        fail(f"packages {sorted(debs)} instead of {sorted(PACKAGES)}")
    return debs


def look_into(debs):
    fields = {name: dict(re.findall(r"^([A-Z][\w-]*): (.*)$", run("dpkg-deb", "-f", path), re.M)) for name, path in debs.items()}
    versions = {each["Version"] for each in fields.values()}
    if len(versions) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+(\+\d{14}\.[0-9a-f]{12}(\.dirty)?)?-1", *versions):
        fail(f"the packages call themselves {versions}")
    libraries = {name: set(re.findall(r"[\w.+-]+(?= \(|,|$)", each["Depends"])) for name, each in fields.items()}
    for needed in ("libhiredis", "libnats", "libuv1", "libgrpc++"):
        if not any(library.startswith(needed) for library in libraries["lockstepd"]):
            fail(f"lockstepd does not depend on {needed}: {sorted(libraries['lockstepd'])}")
        # The simulator has no vendor libraries of the daemon.
        if any(library.startswith(needed) for library in libraries["lockstep"]):
            fail(f"lockstep depends on {needed}")
    if f"lockstepd (= {versions.copy().pop()})" not in fields["lockstep-rehearsal"]["Depends"]:
        fail("lockstep-rehearsal takes another lockstepd than its own")

    owner, pages, programs = {}, set(), set()
    for name, path in debs.items():
        entries = [line.split(None, 5) for line in run("dpkg-deb", "-c", path).splitlines()]
        files = {entry[5].split(" -> ")[0]: entry[0] for entry in entries if not entry[5].endswith("/")}
        conffiles = set(run("dpkg-deb", "-I", path, "conffiles", may_fail=True).split())
        etc = {file[1:] for file in files if file.startswith("./etc/")}
        if etc != {file for file in conffiles if file.startswith("/etc/")}:
            fail(f"{name}: files in /etc are {sorted(etc)}, conffiles say {sorted(conffiles)}")
        for entry in entries:
            if entry[1] != "root/root":
                fail(f"{name}: {entry[5]} belongs to {entry[1]}")
        for file in files:
            if file in owner:
                fail(f"{file} is in {name} and in {owner[file]}")
            owner[file] = name
            if file.startswith("./usr/bin/"):
                programs.add(Path(file).name)
            if "/man/man" in file:
                pages.add(Path(file).name.split(".")[0])
        for document in ("copyright", "changelog.gz", "changelog.Debian.gz"):
            if f"./usr/share/doc/{name}/{document}" not in files:
                fail(f"{name} has no {document}")
    if programs != PACKAGES | {"lockstep-dev"}:
        fail(f"the programs are {sorted(programs)}")
    if not programs <= pages or "lockstep-scenario" not in pages:  # C10
        fail(f"without a manual page: {sorted(programs - pages)}")
    if files_mode(debs["lockstepd"], "./etc/lockstep/lockstepd.env") != "-rw-r-----":
        fail("everybody may read lockstepd.env, in which passwords may stand")
    return versions.pop()


def files_mode(deb, file):
    return next((line.split()[0] for line in run("dpkg-deb", "-c", deb).splitlines() if line.endswith(" " + file)), None)


def dpkg(*words):
    return run("dpkg", f"--root={ROOT}", "--force-depends", "--force-not-root", "--force-script-chrootless", "--force-confold",
               "--log=/dev/null", *words, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})


def install(debs):
    for folder in ("info", "updates", "triggers"):
        (ROOT / "var/lib/dpkg" / folder).mkdir(parents=True)
    (ROOT / "var/lib/dpkg/status").touch()
    dpkg("--install", *debs.values())
    states = run("dpkg-query", f"--admindir={ROOT}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n").split("\n")
    if sorted(filter(None, states)) != sorted(f"{name} installed" for name in PACKAGES):
        fail(f"after the installation: {states}")


def check_versions(version):
    """K4: one version and one commit, whoever is asked. That of lockstep_build_info is held to them by prod_operator_test."""
    number, commit = re.match(r"([\d.]+)(?:\+\d{14}\.([0-9a-f]{12}))?", version).groups("")
    dirty = ".dirty" in version
    build = number + (f"+{commit}" if commit else "") + (".dirty" if dirty else "")
    for name in sorted(PACKAGES):
        called = "lockstep" if name == "lockstep-rehearsal" else name
        said = json.loads(answer_of(ROOT / "usr/bin" / name, "--version", "--json"))
        wanted = {"name": called, "version": number, "commit": commit, "dirty": dirty, "build": build}
        if {key: said.get(key) for key in wanted} != wanted:
            fail(f"{name} --version --json says {said}, its package {version}")
        if run(ROOT / "usr/bin" / name, "--version") != f"{called} {build}\n":
            fail(f"{name} --version does not say {build}")
    for name in ("lockstep", "lockstep-rehearsal"):
        said = answer_of(ROOT / "usr/bin" / name, "run", ROOT / "usr/share/lockstep/scenarios/happy-path.json", "--json")
        if json.loads(said)["build"] != build:
            fail(f"{name} is {json.loads(said)['build']} and its package {version}")
    for file, line in (("LockstepConfigVersion.cmake", f'set(PACKAGE_VERSION "{number}")'), ("lockstep-engine.pc", f"Version: {number}"),
                       ("lockstep-sim.pc", f"Version: {number}")):
        if line not in (BUILD / "package" / file).read_text():
            fail(f"{file} does not say {line}")


def names_of(package):
    """Its own, and those that it provides, by which others may depend on it."""
    return {package} | set(re.findall(r"[a-z][\w.+-]+", run("dpkg-query", "-W", "-f", "${Provides}", package)))


def check_consists_of(debs, version):
    """K7: the SPDX document of each program is about that program, and names the packages that its own package depends on."""
    for name in PACKAGES:
        document = json.loads((ROOT / f"usr/share/doc/{name}/{name}.spdx.json").read_text())
        for key in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
            if not document.get(key):
                fail(f"{name}.spdx.json has no {key}")
        packages = {each["SPDXID"]: each for each in document["packages"]}
        own = packages["SPDXRef-program"]
        digest = hashlib.sha256((ROOT / "usr/bin" / name).read_bytes()).hexdigest()
        if own["checksums"][0]["checksumValue"] != digest or own["versionInfo"] != version:
            fail(f"{name}.spdx.json is about another program than the package's")
        if len(packages) != len(document["packages"]) or not all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in packages):
            fail(f"{name}.spdx.json: identifiers {sorted(packages)}")
        depends = set(re.findall(r"[\w.+-]+", run("dpkg-deb", "-f", debs[name], "Depends")))
        linked = {packages[each["relatedSpdxElement"]]["name"] for each in document["relationships"]
                  if each["relationshipType"] == "DYNAMIC_LINK"}
        strange = [each for each in linked if not names_of(each) & depends]
        if len(linked) < 5 or strange:
            fail(f"{name}.spdx.json names {strange} of {len(linked)}, on which the package does not depend")


def use():
    programs = ROOT / "usr/bin"
    for unit in (ROOT / "usr/lib/systemd/system").glob("*.service"):
        for program in re.findall(r"^Exec\w+=(/usr/bin/lockstep\S*)", unit.read_text(), re.M):
            if not (ROOT / program[1:]).exists():
                fail(f"{unit.name} starts {program}, which is not there")
    environment = dict(line.split("=", 1) for line in (ROOT / "etc/lockstep/lockstepd.env").read_text().splitlines()
                       if line and not line.startswith("#"))
    environment = {key: value.replace("/etc/", f"{ROOT}/etc/") for key, value in environment.items()}
    environment["PATH"] = os.environ["PATH"]
    run(programs / "lockstepd", "--check", env=environment)
    shown = run(programs / "lockstepd", "config", "print", env=environment)
    if f"{ROOT}/etc/lockstep/pools.yaml" not in shown:
        fail(f"lockstepd does not read the installed files:\n{shown}")
    refused = run(programs / "lockstepd", "--check", env={**environment, "NATS_JS_ACK_WAIT": "soon"}, may_fail=True)
    if "NATS_JS_ACK_WAIT" not in refused:
        fail(f"a broken setting is not refused:\n{refused}")
    # Kernel, schedulers and workers of the packages, a redis-server and a nats-server of this machine.
    real = subprocess.run([programs / "lockstep", "run", "--real", ROOT / SCENARIO, "--json"], capture_output=True, text=True)
    verdict = real.stdout + real.stderr
    document = json.loads(real.stdout) if real.returncode in (0, 1) else {"passed": 0, "failed": 0}
    if document["passed"] != 1 or document["failed"] != 0:
        fail(f"the deployment of the packages does not hold:\n{verdict}")


def remove():
    edited = ROOT / "etc/lockstep/lockstepd.env"
    edited.write_text(edited.read_text() + "# edited\n")
    dpkg("--remove", *sorted(PACKAGES))
    if not edited.read_text().endswith("# edited\n"):
        fail("removing takes away what an administrator has written")
    programs = list((ROOT / "usr").rglob("*lockstep*"))
    if programs:
        fail(f"removing leaves {programs}")
    dpkg("--purge", *sorted(PACKAGES))
    left = [path for path in ROOT.rglob("*") if not path.is_dir() and ROOT / "var/lib/dpkg" not in path.parents]
    left += [path for path in (ROOT / "etc/lockstep", ROOT / "usr/share/lockstep") if path.exists()]
    if left:
        fail(f"purging leaves {[str(path.relative_to(ROOT)) for path in left]}")


debs = build()
told("built")
version = look_into(debs)
install(debs)
told("installed")
check_versions(version)
check_consists_of(debs, version)
told("versions and contents agree")
use()
told("used")
remove()
shutil.rmtree(SCRATCH)
told(f"{len(debs)} packages of {version} are purged")
