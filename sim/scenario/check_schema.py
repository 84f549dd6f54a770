"""Checks the scenario files against scenario.schema.json with a JSON Schema implementation that is not ours.

Usage: check_schema.py FOLDER. Exits 77, which ctest shows as skipped, where python3-jsonschema is missing.
"""

import copy
import json
import pathlib
import re
import sys

SKIPPED = 77

# A string, or a comment: strings first, so that "//" inside one stays.
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def parse(text):
    return json.loads(TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else " ", text))


def broken_ones(sound):
    """Documents that the schema must refuse, or it would accept anything."""
    for change in (
        {"clutser": {}},
        {"duration": "soon"},
        {"duration": 15},
        {"seed": -1},
        {"load": [{"rate": "20 per second"}]},
        {"faults": [{"do": "explode", "at": "1s"}]},
        {"faults": [{"do": "crash", "at": "1s"}]},
        {"faults": [{"do": "crash", "at": "1s", "target": "redis", "rate": 0.5}]},
        {"cluster": {"config": {"backof_max": "60s"}}},
        {"expect": {"invariants": ["no_lost_jobs"]}},
        {"expect": {"states": {"DONE": 1}}},
        {"expect": {"states": {"FAILED": "about 5"}}},
    ):
        document = copy.deepcopy(sound)
        document.update(change)
        yield change, document


def main():
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return SKIPPED
    folder = pathlib.Path(sys.argv[1])
    schema_file = folder / "scenario.schema.json"
    schema = json.loads(schema_file.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    wrong = 0
    files = sorted(path for path in folder.rglob("*.json") if not path.name.endswith(".schema.json"))
    for path in files:
        for error in validator.iter_errors(parse(path.read_text())):
            wrong += 1
            print(f"{path}: at /{'/'.join(map(str, error.absolute_path))}: {error.message}")
    for change, document in broken_ones({"name": "sound"}):
        if validator.is_valid(document):
            wrong += 1
            print(f"the schema accepts {json.dumps(change)}")
    print(f"{len(files)} files, {wrong} errors")
    return 1 if wrong or not files else 0


sys.exit(main())
