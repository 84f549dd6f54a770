"""Configures every preset into a folder of its own, and looks at what it came to.

presets_test.py CMAKE ROOT SCRATCH. Builds nothing. A preset whose compiler is not installed is left out, which is said; were all of them,
the test fails. Each of the others must configure, have a build preset and a compile_commands.json, treat warnings as errors, and, where it
says so, compile our sources with its sanitizers or count what of them runs.
"""

import json
import pathlib
import shutil
import subprocess
import sys

CMAKE, ROOT, SCRATCH = sys.argv[1], *map(pathlib.Path, sys.argv[2:4])
EXPECTED = {"release", "debug", "asan", "tsan", "fuzz", "coverage", "mutants", "clang16"}


def variables_of(preset, presets):
    """With those that it inherits."""
    parents = preset.get("inherits", [])
    found = {}
    for parent in [parents] if isinstance(parents, str) else parents:
        found |= variables_of(presets[parent], presets)
    return found | preset.get("cacheVariables", {})


def cached(folder):
    lines = (folder / "CMakeCache.txt").read_text().splitlines()
    return {line.split(":", 1)[0]: line.split("=", 1)[1] for line in lines if ":" in line and "=" in line and line[0] not in "#/"}


def mistakes_of(name, variables, build_presets):
    folder = SCRATCH / name
    done = subprocess.run([CMAKE, "--preset", name, "-B", folder], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        yield f"does not configure:\n{done.stdout}"
        return
    if name not in build_presets:
        yield "has no build preset"
    if cached(folder).get("LOCKSTEP_WERROR") != "ON":
        yield "warnings are no errors"
    commands = json.loads((folder / "compile_commands.json").read_text())
    ours = [each["command"] for each in commands if "/engine/runtime/" in each["command"] or "lockstep_engine.dir" in each["command"]]
    if not ours:
        yield "compile_commands.json tells nothing of the engine"
    sanitizers = variables.get("LOCKSTEP_SANITIZE")
    wanted = ["-Werror", *([f"-fsanitize={sanitizers}"] if sanitizers else []), *variables.get("CMAKE_CXX_FLAGS", "").split()]
    for flag in wanted:
        if not all(flag in command for command in ours):
            yield f"does not compile everything of ours with {flag}"


def main():
    document = json.loads((ROOT / "CMakePresets.json").read_text())
    presets = {preset["name"]: preset for preset in document["configurePresets"]}
    build_presets = {preset["name"] for preset in document["buildPresets"]}
    visible = {name for name, preset in presets.items() if not preset.get("hidden")}
    problems = [] if visible == EXPECTED else [f"the presets are {sorted(visible)}, and this test knows {sorted(EXPECTED)}"]
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    configured = 0
    for name in sorted(visible):
        variables = variables_of(presets[name], presets)
        if shutil.which(variables["CMAKE_CXX_COMPILER"]) is None:
            print(f"{name}: left out, {variables['CMAKE_CXX_COMPILER']} is not installed")
            continue
        problems += [f"{name}: {mistake}" for mistake in mistakes_of(name, variables, build_presets)]
        configured += 1
        shutil.rmtree(SCRATCH / name, ignore_errors=True)
    if configured == 0:
        problems.append("no preset could be configured")
    print("\n".join(problems) if problems else f"{configured} presets configure, and are what they say")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
