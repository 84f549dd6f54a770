#!/usr/bin/env python3
"""K7: what a program consists of, as an SPDX 2.3 document: Lockstep itself, the Debian packages whose libraries it loads, and those whose
headers and archives were compiled into it. Versions and licences are those of the packages on the machine that builds.

sbom.py NAME VERSION PROGRAM [HEADERS_OF...]    the time is SOURCE_DATE_EPOCH, so that the same build gives the same document
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid

# As Debian's copyright files call them, and as SPDX does. Another name is no assertion, and not guessed.
LICENCES = {
    "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "expat": "MIT", "mit": "MIT", "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause", "bsl-1.0": "BSL-1.0", "boost": "BSL-1.0", "zlib": "Zlib", "isc": "ISC", "cc0-1.0": "CC0-1.0",
    "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later", "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "lgpl-3+": "LGPL-3.0-or-later",
}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def packages_of_libraries(program):
    """The packages that hold what the loader is asked for by the program itself, not by its libraries."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", program)))
    places = dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", program), re.M))
    found = set()
    for library in sorted(needed):
        if library in places:
            found.add(owner_of(places[library]))
    return found


def owner_of(path):
    # dpkg knows a file by the name that its package gave it: with or without /usr.
    for name in (path, os.path.realpath(path), re.sub("^/usr", "", os.path.realpath(path)), "/usr" + path):
        done = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0].split(",")[0]
    sys.exit(f"sbom: no package has {path}: a library that Debian does not know is linked")


def licence_of(package):
    """Of most of its files, where its copyright file can be read by a program and uses a name that SPDX has as well."""
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return "NOASSERTION"
    for paragraph in re.split(r"\n\s*\n", text):
        if re.search(r"(?m)^Files:\s*\*", paragraph):
            name = re.search(r"(?m)^License:\s*(\S+)\s*$", paragraph)
            return LICENCES.get(name[1].lower(), "NOASSERTION") if name else "NOASSERTION"
    return "NOASSERTION"


def debian_package(name):
    version, source, architecture = output_of("dpkg-query", "-W", "-f", "${Version}\t${source:Package}\t${Architecture}", name).split("\t")
    return {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}",
        "name": name, "versionInfo": version, "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence_of(name), "copyrightText": "NOASSERTION",
        "sourceInfo": f"Debian source package {source}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"}],
    }


def document(name, version, program, compiled_in):
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    own = {
        "SPDXID": "SPDXRef-program", "name": name, "versionInfo": version, "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "primaryPackagePurpose": "APPLICATION",
    }
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    loaded = packages_of_libraries(program)
    for package, relation in [(each, "DYNAMIC_LINK") for each in sorted(loaded)] + [(each, "STATIC_LINK") for each in compiled_in]:
        packages.append(debian_package(package))
        relations.append((own["SPDXID"], relation, packages[-1]["SPDXID"]))
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{name} {version} {digest}')}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)), "creators": ["Tool: lockstep-sbom"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }


if __name__ == "__main__":
    json.dump(document(*sys.argv[1:4], sys.argv[4:]), sys.stdout, indent=1)
    print()
