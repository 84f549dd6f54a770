#!/usr/bin/env python3
"""Validates sample comparisons against their published schema, and checks that the schema refuses what is wrong.

Usage: validate_documents.py SAMPLES SCHEMA KEPT. SAMPLES is the program comparison_samples. KEPT has documents of schema versions, each
KEPT/<schema_version>/<what>.json, without most of their pictures; they are never changed and fit the schema of now. Exits 77, which ctest
shows as skipped, where python3-jsonschema is not installed.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

SPOILT = {
    "a run without a seed": lambda d: d["runs"][0].pop("seed"),
    "a text for a value": lambda d: d["runs"][0]["values"].append("1"),
    "a digest that is none": lambda d: d["runs"][0].update(digest="xyz"),
    "a direction that is none": lambda d: d["measures"][0].update(better="up"),
    "a verdict of one sentence": lambda d: d["verdict"].update(sentences=["Take it."]),
    "an effect that is none": lambda d: d["effects"][0].update({"is": "splendid"}),
    "a point with three numbers": lambda d: d["distributions"][0]["points"].append([1, 2, 3]),
    "a format of the future": lambda d: d.update(format=2),
    "a schema of the future": lambda d: d.update(schema_version="2.0"),
    "no measures": lambda d: d.pop("measures"),
    "a field that is not described": lambda d: d.update(surprise=1),
    "a field of a run that is not described": lambda d: d["runs"][0].update(surprise=1),
}


def main():
    try:
        from jsonschema import Draft7Validator
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return 77
    samples, schema_path, kept_path = sys.argv[1:4]
    schema = json.loads(pathlib.Path(schema_path).read_text())
    Draft7Validator.check_schema(schema)
    validator = Draft7Validator(schema)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="lockstep-documents-") as folder:
        subprocess.run([samples, folder], check=True)
        documents = {path.name: json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))}
    kept = {str(path): json.loads(path.read_text()) for path in sorted(pathlib.Path(kept_path).glob("*/*.json"))}
    versions = {pathlib.Path(path).parent.name for path in kept}
    now = documents["pair.json"]["schema_version"]
    if now not in versions or now not in schema["title"]:
        failed += 1
        print(f"no document of schema_version {now} is kept in {kept_path}, or the schema's title has another one")
    for name, document in (documents | kept).items():
        for error in validator.iter_errors(document):
            failed += 1
            print(f"{name}: /{'/'.join(map(str, error.absolute_path))}: {error.message}")
    for what, spoil in SPOILT.items():
        document = copy.deepcopy(documents["pair.json"])
        spoil(document)
        if validator.is_valid(document):
            failed += 1
            print(f"the schema lets {what} pass")
    print(f"{len(documents)} documents and {len(kept)} kept ones fit, {len(SPOILT)} spoilt ones do not" if not failed else f"{failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
