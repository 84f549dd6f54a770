"""Counts of the sources as a whole, for the group `sources` of kept.json. Each function of COUNTS takes the root of the repository and the
folder of a build, and returns one number; its name is that of the count."""

import collections
import functools
import pathlib
import re
import subprocess

FOLDERS = ("bench", "engine", "fakes", "prod", "reports", "scenarios", "sim", ".cmake")
# Only tests use the code in folders of these names.
TEST_FOLDERS = {"testing", "integration", "interop", "upgrade"}

ARGUMENT = r"\(((?:[^()]|\([^()]*\))*)\)"
SLEEPS = {".cpp": rf"\bsleep_for{ARGUMENT}", ".h": rf"\bsleep_for{ARGUMENT}", ".py": rf"\btime\.sleep{ARGUMENT}"}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3,
           "seconds": 1, "minutes": 60, "hours": 3600}
NUMBER = r"(\d[\d'.]*)"
# 4s, std::chrono::seconds(4), std::chrono::seconds kPause{4}
SPANS = (rf"(?<![\w.]){NUMBER}(?P<unit>ns|us|ms|s|min|h)\b",
         rf"\b(?P<unit>{'|'.join(unit for unit in SECONDS if len(unit) > 3)})(?:\s+\w+)?\s*[({{]{NUMBER}[)}}]")


class NotInSight(Exception):
    """The length of a sleep is no literal and no constant of its file."""


def test_files(root):
    """foo_test.cpp, test_foo.h, foo_test.py, and all files of the folders that only tests use."""
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SLEEPS and (re.search(r"(^|_)test(_|$)", file.stem) or TEST_FOLDERS & set(file.relative_to(root).parts[:-1])):
                yield file


def seconds_of(argument, text, python):
    """The length of a sleep; a name stands for the constant of that name in the same text."""
    if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", argument):
        definition = re.search(rf"^.*\b{argument.strip()}\s*[={{].*$", text, re.M)
        argument = definition[0].split("=", 1)[-1] if definition else argument
    if python:
        found = re.fullmatch(r"\s*([\d.]+)\s*", argument)
        return float(found[1]) if found else None
    for span in SPANS:
        if found := re.search(span, argument):
            number = next(group for group in found.groups() if group != found["unit"])
            return float(number.replace("'", "")) * SECONDS[found["unit"]]
    return None


def seconds_tests_wait(root, _build):
    """The sum of all sleeps in tests, each counted once. Virtual time passes without a clock and is not counted."""
    total = 0.0
    for file in test_files(root):
        text = file.read_text()
        for found in re.finditer(SLEEPS[file.suffix], text):
            seconds = seconds_of(found[1], text, file.suffix == ".py")
            if seconds is None:
                line = text.count("\n", 0, found.start()) + 1
                raise NotInSight(f"{file.relative_to(root)}:{line}: give this sleep a literal or a constant of the same file, so that it can be counted")
            total += seconds
    return total


@functools.cache
def units(build):
    """The objects of the default build."""
    done = subprocess.run(["ninja", "-C", build, "-t", "inputs", "all"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotInSight(f"ninja knows no build in {build}: {done.stderr.strip()}")
    return frozenset(line for line in done.stdout.splitlines() if line.endswith(".o"))


def compiled_units(_root, build):
    return len(units(build))


def lines_compiled(_root, build):
    """Of every unit the lines of all files that it reads, but for those of its precompiled headers."""
    read, unit = collections.Counter(), None
    for line in subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("    "):
            if unit in units(build):
                read[line.strip()] += 1
        elif line:
            unit = line.split(": #deps")[0]
    if not read:
        raise NotInSight(f"nothing has been built in {build}")
    total = 0
    for file, times in read.items():
        path = pathlib.Path(build) / file
        if path.suffix != ".pch" and path.is_file():
            total += times * path.read_bytes().count(b"\n")
    return total


COUNTS = (seconds_tests_wait, compiled_units, lines_compiled)
