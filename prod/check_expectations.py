"""Holds the table of what users expect to the tests that there are.

Usage: check_expectations.py PAGE ROOT BUILD. Each row says yes, partly or no; every test that it names is one of ctest's in BUILD or one
of GoogleTest's in the sources below ROOT; what is met is shown by one, and of the rest it says what is missing.
"""

import pathlib
import re
import subprocess
import sys

IDS = [*(f"C{n}" for n in [*range(1, 13), 14]), *(f"O{n}" for n in [*range(1, 19), 20]), *(f"K{n}" for n in range(1, 8)),
       *(f"X{n}" for n in range(1, 7))]
FOLDERS = ("engine", "fakes", "prod", "reports", "sim")


def tests_of(root, build):
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], text=True, stdout=subprocess.PIPE, check=True).stdout
    names = set(re.findall(r"^ *Test +#\d+: (\S+)$", listed, re.MULTILINE))
    if not names:
        raise SystemExit("ctest lists no tests")
    for folder in FOLDERS:
        for source in (root / folder).rglob("*_test.cpp"):
            names |= {".".join(pair) for pair in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", source.read_text())}
    return names


def mistakes_in(rows, tests):
    if [row[0] for row in rows] != IDS:
        yield f"the rows are not {' '.join(IDS)}"
    for identifier, rank, _, met, shown, missing in rows:
        named = re.findall(r"`([^`]+)`", shown)
        if rank not in ("P0", "P1"):
            yield f"{identifier}: rank {rank}"
        if met not in ("yes", "partly", "no"):
            yield f"{identifier}: \"{met}\" is none of yes, partly, no"
        if met == "yes" and not named:
            yield f"{identifier}: nothing shows it"
        if met != "yes" and not missing:
            yield f"{identifier}: what is missing is not said"
        for name in named:
            if name not in tests:
                yield f"{identifier}: there is no test {name}"


def main(page, root, build):
    rows = [line for line in page.read_text().splitlines() if re.match(r"\| [COKX]\d", line)]
    lines = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    broken = [line[0] for line in lines if len(line) != 6]
    if broken:
        print("rows with other than six cells:", *broken)
        return 1
    mistakes = list(mistakes_in(lines, tests_of(root, build)))
    print(*mistakes, sep="\n")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:4])))
