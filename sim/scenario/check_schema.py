"""Checks the scenario files against scenario.schema.json, and comparisons against theirs, with a JSON Schema implementation that is not ours.

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


BROKEN_SCENARIOS = (
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
)
BROKEN_COMPARISONS = (
    {"tilte": "Backoff"},
    {"seeds": 0},
    {"vary": {"backoff_base": "1s"}},
    {"vary": {"backoff_base": {"from": "1s", "to": "2s"}}},
    {"limits": {"naks": "5 %"}},
)


def checked(files, schema_file, sound, broken):
    """How much is wrong with the files, and with a schema that refuses too little."""
    import jsonschema

    schema = json.loads(schema_file.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = 0
    for path in files:
        for error in validator.iter_errors(parse(path.read_text())):
            wrong += 1
            print(f"{path}: at /{'/'.join(map(str, error.absolute_path))}: {error.message}")
    for change in broken:
        document = copy.deepcopy(sound)
        document.update(change)
        if validator.is_valid(document):
            wrong += 1
            print(f"the schema {schema_file.name} accepts {json.dumps(change)}")
    return wrong


def main():
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return SKIPPED
    folder = pathlib.Path(sys.argv[1])
    files = sorted(path for path in folder.rglob("*.json") if not path.name.endswith(".schema.json"))
    comparisons = [path for path in files if path.parent.name == "compare"]
    scenarios = [path for path in files if path not in comparisons]
    wrong = checked(scenarios, folder / "scenario.schema.json", {"name": "sound"}, BROKEN_SCENARIOS)
    sound = {"title": "t", "question": "q", "scenarios": ["a.json"], "vary": {"backoff_base": ["1s"]}}
    wrong += checked(comparisons, folder / "compare" / "comparison.schema.json", sound, BROKEN_COMPARISONS)
    print(f"{len(scenarios)} scenarios and {len(comparisons)} comparisons, {wrong} errors")
    return 1 if wrong or not scenarios or not comparisons else 0


sys.exit(main())
