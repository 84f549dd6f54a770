"""Runs the command blocks of a Markdown page, one after the other, and compares their exit codes.

Usage: check_readme.py PAGE PROGRAMS ROOT SCRATCH. PROGRAMS is the folder of the built programs, ROOT what the page's commands
start from; they run in SCRATCH, where everything of ROOT can be seen and nothing of it be changed.

In a fenced block without a language, or of language console, lines that begin with "$ " are commands, in one shell per block.
Each has to exit with 0, or with what "$ echo $?" after it shows. A jsonc block is a scenario, which is run, or a comparison, which
is checked beside the scenarios of ROOT. Comments before a block say what a reader does not need:

  <!-- not run: WHY -->          the block is left out
  <!-- before: COMMAND -->       runs first, in the block's shell
  <!-- needs: PROGRAM ... -->    the block is left out where one is not installed
"""

import pathlib
import re
import shutil
import subprocess
import sys

BLOCK = re.compile(r"(?P<comments>(?:<!--[^\n]*-->\n+)*)^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- (not run|before|needs): (.*?) -->")
LIMIT_SECONDS = 300


def commands_of(body):
    """(command, expected exit code) of a block."""
    commands = []
    asked = False
    for line in body.splitlines():
        if line == "$ echo $?":
            asked = True
        elif line.startswith("$ "):
            commands.append([line[2:], 0])
        elif asked:
            commands[-1][1] = int(line)
            asked = False
    return commands


def script_of(before, commands):
    lines = [*before]
    for number, (command, expected) in enumerate(commands):
        lines.append(command)
        lines.append(f'code=$?; [ $code = {expected} ] || {{ echo "command {number + 1} of the block exits $code, '
                     f'not {expected}"; exit 1; }}')
    return "\n".join(lines) + "\n"


def prepare(root, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for entry in root.iterdir():
        if entry.name not in ("build", "failures") and not entry.name.startswith("."):
            (scratch / entry.name).symlink_to(entry)
    (scratch / "page" / "compare").mkdir(parents=True)
    (scratch / "page" / "tuning").symlink_to(root / "scenarios" / "tuning")


def main(page, programs, root, scratch):
    prepare(root, scratch)
    text = page.read_text()
    ran, failed = 0, 0
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start("language")) + 1
        comments = COMMENT.findall(block["comments"])
        why = [words for kind, words in comments if kind == "not run"]
        missing = [name for kind, words in comments if kind == "needs" for name in words.split()
                   if not shutil.which(name) and not (programs / name).exists()]
        commands = commands_of(block["body"]) if block["language"] in ("", "console") else []
        if block["language"] == "jsonc":
            is_comparison = '"variants"' in block["body"] or '"vary"' in block["body"]
            example = "page/compare/example.json" if is_comparison else "example.json"
            (scratch / example).write_text(block["body"])
            commands = [(f"lockstep {'validate' if is_comparison else 'run'} {example}", 0)]
        if not commands and not why:
            if block["language"] in ("", "console"):
                print(f"{page.name}:{line}: no command in this block: begin one with \"$ \", or say why it is not run")
                failed += 1
            continue
        if why or missing:
            print(f"{page.name}:{line}: not run: {why[0] if why else ' '.join(missing) + ' is not installed'}")
            continue
        before = [words for kind, words in comments if kind == "before"]
        script = f'PATH="{programs}:$PATH"\n' + script_of(before, commands)
        done = subprocess.run(["bash", "-c", script], cwd=scratch, timeout=LIMIT_SECONDS, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(f"{page.name}:{line}: {'ok' if done.returncode == 0 else 'FAILED'}")
        ran += 1
        if done.returncode != 0:
            print(script + done.stdout)
            failed += 1
    if ran == 0:
        print(f"{page.name}: no block was run")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:5])))
