"""Checks lockstep-mutants at the end of its build: every mutant can be switched on, and reaches the program that runs.

program_test.py PROGRAM MAP ARCHIVE: MAP is the linker's map of the program, ARCHIVE the file name of the engine's archive.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import apply

SCENARIO = "scenarios/workflows/a-run-begins-another.json"
TREE = apply.HERE.parent.parent


def start(program, *arguments):
    done = subprocess.run([program, *arguments], cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout.strip()


def outcome(program, names):
    """What a run comes to with these mutants: its digest, or how the program fails."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        report = pathlib.Path(folder) / "report.json"
        option = ["--mutant", ",".join(names)] if names else []
        code, output = start(program, *option, "run", SCENARIO, "--allow-vacuous", "--json", str(report))
        return json.loads(report.read_text(encoding="utf-8"))["results"][0]["digest"] if report.is_file() else f"{code}: {output}"


def mistakes_of(program, link_map, archive):
    if f"{archive}(" in pathlib.Path(link_map).read_text(encoding="utf-8", errors="replace"):
        yield f"it takes parts of the engine from {archive}, where no mutant is; see {link_map}"
    known = apply.mutants()
    code, output = start(program, "--mutant", ",".join(mutant.name for mutant in known), "--version")
    if code != 0:
        yield f"not every mutant can be switched on: {output}"
    for names in ("no-such-mutant", f"{known[0].name},no-such-mutant", ""):
        code, output = start(program, "--mutant", names, "--version")
        if code != 2:
            yield f"--mutant '{names}' should be refused with exit code 2, and ends with {code}: {output}"
    original = outcome(program, [])
    for folder in sorted({mutant.room for mutant in known if mutant.file.endswith(".lua")}):
        if outcome(program, [mutant.name for mutant in known if mutant.room == folder and mutant.file.endswith(".lua")]) == original:
            yield f"{SCENARIO} runs with all mutants of {folder} as it does without any"


def main():
    mistakes = list(mistakes_of(*sys.argv[1:4]))
    for mistake in mistakes:
        print(f"lockstep-mutants: {mistake}", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
