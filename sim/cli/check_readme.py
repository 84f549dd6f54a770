"""Runs the command blocks of a Markdown page, one after the other, and compares their exit codes.

Usage: check_readme.py PAGE PROGRAMS ROOT SCRATCH. PROGRAMS is the folder of the built programs, ROOT what the page's commands
start from; they run in SCRATCH, where everything of ROOT can be seen and nothing of it be changed.

In a fenced block without a language, or of language console, lines that begin with "$ " are commands, in one shell per block, and
lines behind them that begin with "> " go on with them. Each has to exit with 0, or with what "$ echo $?" after it shows. A jsonc
block is a scenario, which is run, or a comparison, which is checked beside the scenarios of ROOT. FIRST_PORT is the first of twenty
ports that are free. What a block has left running ends with the page. Comments before a block say what a reader does not need:

  <!-- not run: WHY -->          the block is left out
  <!-- before: COMMAND -->       runs first, in the block's shell
  <!-- needs: PROGRAM ... -->    the block is left out where one is not installed
  <!-- says: TEXT -->            the block's output contains this
  <!-- makes: FILE = KEPT -->    the block writes FILE, which is the same as KEPT in ROOT
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

BLOCK = re.compile(r"(?P<comments>(?:<!--[^\n]*-->\n+)*)^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- (not run|before|needs|says|makes): (.*?) -->")
LIMIT_SECONDS = 300


def commands_of(body):
    """(command, expected exit code) of a block."""
    commands = []
    asked = False
    continued = False
    for line in body.splitlines():
        if continued and (line.startswith("> ") or line == ">"):
            commands[-1][0] += "\n" + line[2:]
            continue
        continued = line.startswith("$ ") and line != "$ echo $?"
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


def free_ports(count):
    """The first of so many ports in a row that nobody listens on, below those that the system hands out."""
    for first in range(20000 + os.getpid() % 500 * 20, 32000, count):
        taken = []
        try:
            for port in range(first, first + count):
                taken.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
        finally:
            for each in taken:
                each.close()
        return first
    raise SystemExit("no free ports")


def run(script, folder, groups):
    """Exit code and output. A file takes the output: what is left running would hold a pipe open."""
    with open(folder / "page.out", "w+", encoding="utf-8", errors="replace") as output:
        shell = subprocess.Popen(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        groups.append(shell.pid)
        code = shell.wait(timeout=LIMIT_SECONDS)
        output.seek(0)
        return code, output.read()


def end(groups):
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


def main(page, programs, root, scratch):
    prepare(root, scratch)
    os.environ["FIRST_PORT"] = str(free_ports(20))
    groups = []
    try:
        return check(page, programs, scratch, groups)
    finally:
        end(groups)


def different(comments, scratch):
    """Of the files that a block makes: those that are not as they are kept, each with its place in ROOT."""
    pairs = [words.split(" = ") for kind, words in comments if kind == "makes"]
    return [(made, kept) for made, kept in pairs
            if not (scratch / made).is_file() or (scratch / made).read_bytes() != (scratch / kept).read_bytes()]


def check(page, programs, scratch, groups):
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
        code, output = run(script, scratch, groups)
        unsaid = [words for kind, words in comments if kind == "says" and words not in output]
        others = different(comments, scratch)
        print(f"{page.name}:{line}: {'FAILED' if code != 0 or unsaid or others else 'ok'}")
        ran += 1
        if code != 0 or unsaid or others:
            print(script + output)
            failed += 1
        for words in unsaid:
            print(f"{page.name}:{line}: nothing says \"{words}\"")
        for made, kept in others:
            print(f"{page.name}:{line}: {kept} is not what the block makes; if the change is meant, cp {scratch / made} {kept}")
    if ran == 0:
        print(f"{page.name}: no block was run")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:5])))
