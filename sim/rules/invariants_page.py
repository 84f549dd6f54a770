#!/usr/bin/env python3
"""Writes invariants.md beside this file, a section for each invariant, or says that it is not what would be written.

invariants_page.py LOCKSTEP TREE [--check]

What an invariant promises is the comment at the head of its rule, and a scenario that breaks it one whose `proves` names it; else a planted
defect of the engine (sim/mutants) that it has found.
"""
import json
import pathlib
import re
import subprocess
import sys

LOCKSTEP, TREE = sys.argv[1], pathlib.Path(sys.argv[2])
PAGE = TREE / "sim/rules/invariants.md"
HEAD = """# The invariants

What the judge of the simulator holds every run to, one section each: what it promises, where the documents say so, and a scenario that
breaks it. `lockstep list invariants` has a line for each; `expect.invariants` of a scenario names those that it is about. Made by
`sim/rules/invariants_page.py` of the comments at the head of the rules.
"""


def promises(name):
    """The comment at the head of the file, as Markdown."""
    lines = []
    for line in (TREE / f"sim/rules/{name}.cpp").read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    text = "\n".join(lines)
    # Lines of an item of a list go on with it; its own indent stays.
    return re.sub(r"(?m)^(\d)\. ", r"\1. ", text).replace("<", "&lt;")


def breaking():
    """By invariant, the command that breaks it."""
    commands = {}
    for file in sorted((TREE / "scenarios").rglob("*.json")):
        text = re.sub(r"(?m)//.*$|/\*.*?\*/", "", file.read_text())
        try:
            proves = json.loads(text).get("proves")
        except (ValueError, AttributeError):
            continue
        for name in (proves or {}).get("violated", []):
            commands.setdefault(name, f"lockstep run {file.relative_to(TREE)} --without {proves['without']}")
    return commands


def defects():
    """By invariant, a planted defect that it has found, and what is wrong with it."""
    found = {}
    for row in re.findall(r"(?m)^\| (\S+)(?: \(aside\))? \| \S+ \| (.*?) \| (?:found|at once) \| (\w+), draw", (TREE / "sim/mutants/results.md").read_text()):
        found.setdefault(row[2], row[:2])
    return found


def page():
    listed = json.loads(subprocess.run([LOCKSTEP, "list", "invariants", "--json"], check=True, capture_output=True, text=True).stdout)
    commands, planted = breaking(), defects()
    parts = [HEAD]
    for invariant in listed["invariants"]:
        name = invariant["name"]
        parts.append(f"## {name}\n\n{invariant['help'][:1].upper() + invariant['help'][1:]}. Documented in {invariant['paragraph']}.\n\n{promises(name)}\n")
        if name in commands:
            parts.append(f"It breaks in\n\n    {commands[name]}\n")
        elif name in planted:
            defect, what = planted[name]
            parts.append(f"It breaks where {what} (`{defect}`, a defect that `./dev mutants {defect}` plants into the engine).\n")
    return "\n".join(parts)


if sys.argv[3:] == ["--check"]:
    if PAGE.read_text() != page():
        sys.exit(f"{PAGE} is not what its rules say: {sys.argv[0]} LOCKSTEP TREE writes it anew")
else:
    PAGE.write_text(page())
