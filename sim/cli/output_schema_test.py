"""Holds what lockstep prints with --json to its schema, and the schema to what versions before printed.

output_schema_test.py PROGRAM SCHEMA KEPT ROOT SCRATCH. Exits 77, which ctest shows as skipped, where python3-jsonschema is missing.

KEPT has documents of schema versions, each KEPT/<schema_version>/<definition>-<what>.json. They are never changed: whoever reads the
documents of this version must be able to read those, so they have to fit the schema of this one. With --keep at the end the documents of
now are written there, for a new minor version, with long lists cut short.
"""

import json
import pathlib
import shutil
import subprocess
import sys

PROGRAM, SCHEMA, KEPT, ROOT, SCRATCH = (pathlib.Path(word) for word in sys.argv[1:6])
KEEP = sys.argv[6:] == ["--keep"]


def printed(*args, file=None):
    done = subprocess.run([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        return json.loads(pathlib.Path(file).read_text() if file else done.stdout)
    except (OSError, ValueError) as error:
        sys.exit(f"{' '.join(map(str, args))} exits {done.returncode}: {error}\n{done.stdout}{done.stderr}")


def documents():
    """(definition, what, document) of real runs, of each command and each form that it has."""
    scenario, wrong = "scenarios/happy-path.json", SCRATCH / "wrong.json"
    wrong.write_text('{"nam": 1}')
    broken = [scenario, "--set", "cluster.schedulers=2", "--without", "job_lock"]
    yield "run", "holds", printed("run", scenario, "--json")
    yield "run", "fails", printed("run", *broken, "--failures", SCRATCH, "--json")
    failure = next(SCRATCH.glob("*happy-path*.json"))
    yield "run", "selects-nothing", printed("run", scenario, "--filter", "no-such-name", "--json")
    yield "explore", "finds-nothing", printed("explore", scenario, "--seeds", "1", "--out", SCRATCH / "out", "--json")
    yield "explore", "finds", printed("explore", scenario, "--without", "job_lock", "--seeds", "20", "--out", SCRATCH / "found", "--json")
    yield "enumerate", "covers", printed("enumerate", scenario, "--occurrences", "1", "--out", SCRATCH / "out", "--json")
    yield "verify-determinism", "agrees", printed("verify-determinism", scenario, "--json")
    yield "verify-determinism", "selects-nothing", printed("verify-determinism", scenario, "--filter", "no-such-name", "--json")
    yield "run", "lists", printed("run", scenario, "--seeds", "2", "--list", "--json")
    yield "replay", "fails", printed("replay", failure, "--json")
    yield "replay", "suite", printed("replay", failure, failure, "--json")
    yield "replay", "looks", printed("replay", failure, "--until", "50", "--json")
    yield "explain", "fails", printed("explain", failure, "--json")
    yield "shrink", "shrinks", printed("shrink", failure, "--max-runs", "20", "--out", SCRATCH / "less.json", "--json")
    yield "coverage", "counts", printed("coverage", "--seeds", "3", "--data-loss", "--json")
    yield "validate", "sound", printed("validate", scenario, "--json")
    yield "validate", "wrong", printed("validate", wrong, "--json")
    yield "list", "all", printed("list", "--json")
    yield "list", "measures", printed("list", "measures", "--json")
    yield "version of the program", "now", printed("--version", "--json")


def shortened(value):
    if isinstance(value, dict):
        return {name: shortened(member) for name, member in value.items()}
    return [shortened(item) for item in value[:20]] if isinstance(value, list) else value


def unnamed(node, value, schema, place):
    """Members of `value` that the schema does not name, where it names any: a reader would not know what they mean."""
    if "$ref" in node:
        yield from unnamed(schema["definitions"][node["$ref"].rsplit("/", 1)[1]], value, schema, place)
    if isinstance(value, list) and "items" in node:
        for index, item in enumerate(value):
            yield from unnamed(node["items"], item, schema, f"{place}/{index}")
    if not isinstance(value, dict):
        for part in node.get("allOf", []) + node.get("anyOf", []):
            yield from unnamed(part, value, schema, place)
        return
    named = names_of(node, schema)
    if named and "additionalProperties" not in node:
        yield from (f"{place}/{name}" for name in value if name not in named)
    for name, member in value.items():
        if name in named:
            yield from unnamed(named[name], member, schema, f"{place}/{name}")
        elif isinstance(node.get("additionalProperties"), dict):
            yield from unnamed(node["additionalProperties"], member, schema, f"{place}/{name}")


def names_of(node, schema):
    if "$ref" in node:
        node = schema["definitions"][node["$ref"].rsplit("/", 1)[1]]
    named = {}
    for part in node.get("allOf", []) + node.get("anyOf", []):
        named |= names_of(part, schema)
    return named | node.get("properties", {})


def main():
    import jsonschema

    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    mistakes = []

    def check(definition, what, document):
        fits = jsonschema.Draft7Validator({"$ref": f"#/definitions/{definition}", "definitions": schema["definitions"]})
        for error in fits.iter_errors(document):
            mistakes.append(f"{what}: at /{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")

    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    made = set()
    for definition, what, document in documents():
        made.add(definition)
        check(definition, f"{definition} that {what}", document)
        mistakes += [f"{definition} that {what}: {place} is not in the schema"
                     for place in unnamed(schema["definitions"][definition], document, schema, "")]
        if KEEP and what != "all":  # which is long and of one form
            folder = KEPT / document.get("schema_version", "1.0")
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{definition.replace(' ', '_')}-{what}.json"
            if not file.exists():
                file.write_text(json.dumps(shortened(document), separators=(",", ":")).replace(str(SCRATCH), "scratch") + "\n")
    kept = sorted(KEPT.glob("*/*.json"))
    if not kept:
        mistakes.append(f"{KEPT}: no document of any version is kept")
    for file in kept:
        check(definition_of(file.stem, schema), str(file), json.loads(file.read_text()))
    if mistakes:
        sys.exit("\n".join(mistakes))
    print(f"{len(made)} kinds of documents of now and {len(kept)} kept ones fit")


def definition_of(stem, schema):
    """The longest one that the name begins with."""
    fitting = [name for name in schema["definitions"] if stem.startswith(name.replace(" ", "_") + "-")]
    return max(fitting, key=len)


if __name__ == "__main__":
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        sys.exit(77)
    main()
