#!/usr/bin/env python3
"""Holds the workflows in .github to what there is: each is a workflow, every command of ./dev and of lockstep that it calls exists and
takes the options it is given, and every folder that it names is there.

workflows_test.py TREE LOCKSTEP
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

TREE, LOCKSTEP = Path(sys.argv[1]), sys.argv[2]
problems = []


def help_of(*words):
    done = subprocess.run([LOCKSTEP, *words, "--help"], capture_output=True, text=True)
    return done.stdout if f"Usage: lockstep {words[0]} " in done.stdout else None


def check_lockstep(where, words):
    text = help_of(words[0]) if words else None
    if text is None:
        problems.append(f"{where}: lockstep has no command {' '.join(words[:1])}")
        return
    takes_value = False
    for word in words[1:]:
        if word.startswith("-"):
            option = word.split("=")[0]
            shown = re.search(rf"(?m)^  (?:\S+,)?{re.escape(option)}(?: |,|$)(.*)$", text)
            if not shown:
                problems.append(f"{where}: lockstep {words[0]} has no option {option}")
            takes_value = bool(shown) and re.match(r"\[?[A-Z]", shown[1]) is not None and "=" not in word
        elif not takes_value and not (TREE / word).exists():
            problems.append(f"{where}: there is no {word}")
        else:
            takes_value = False


def check_command(where, words):
    if words[0] == "./dev":
        known = re.findall(r"(?m)^cmd_(\w+)\(\)", (TREE / "dev").read_text())
        if words[1:2] == [] or words[1] not in known:
            problems.append(f"{where}: ./dev has no command {' '.join(words[1:2])}")
        elif words[1] == "run":
            check_lockstep(where, ["run", *words[2:]])
    elif Path(words[0]).name == "lockstep":
        check_lockstep(where, words[1:])
    elif words[0] not in ("apt-get", "git", "gh"):
        problems.append(f"{where}: {words[0]} is not known to be there")


def check_workflow(path):
    document = yaml.safe_load(path.read_text())
    calls = 0
    # In YAML 1.1 the key `on` is the truth.
    for key in ("name", True, "jobs", "permissions"):
        if not document.get(key):
            problems.append(f"{path.name}: no {'on' if key is True else key}")
    for name, job in (document.get("jobs") or {}).items():
        where = f"{path.name}, job {name}"
        if "runs-on" not in job or "timeout-minutes" not in job:
            problems.append(f"{where}: runs-on and timeout-minutes are missing")
        for step in job.get("steps", []):
            if ("run" in step) == ("uses" in step):
                problems.append(f"{where}: a step runs or uses something: {step}")
            if "uses" in step and not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]):
                problems.append(f"{where}: {step['uses']} names no version")
            for line in re.sub(r"\$\{\{.*?\}\}", "20", step.get("run", "")).splitlines():
                for command in line.split("&&"):
                    calls += 1
                    check_command(where, shlex.split(command))
    return calls


workflows = sorted((TREE / ".github/workflows").glob("*.yml"))
calls = sum(check_workflow(path) for path in workflows)
action = yaml.safe_load((TREE / ".github/actions/lockstep/action.yml").read_text())
check_lockstep("action.yml", shlex.split(action["inputs"]["args"]["default"]))
if not action["runs"]["steps"]:
    problems.append("action.yml: no steps")
if len(workflows) < 3 or calls < 5:
    problems.append(f"only {len(workflows)} workflows with {calls} commands")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(workflows)} workflows, {calls} commands")
