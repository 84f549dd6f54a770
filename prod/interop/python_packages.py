#!/usr/bin/env python3
"""Puts Python packages that a test needs into a virtual environment, and says where its interpreter is.

Usage: python_packages.py FOLDER REQUIREMENTS. FOLDER is kept as long as the requirements and this interpreter stay the same. Exits 77
where they cannot be had: no venv module (Debian: python3-venv), no package index that can be reached, no wheel for this machine.
"""

import pathlib
import shutil
import subprocess
import sys
import venv

PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--retries", "1", "--timeout", "15",
       "--only-binary", ":all:", "--requirement"]
LIMIT_SECONDS = 300


def install(folder, requirements):
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
    except (subprocess.CalledProcessError, OSError) as error:
        return f"no virtual environment can be made here (Debian: python3-venv): {error}"
    try:
        done = subprocess.run([folder / "bin/python", *PIP, requirements], timeout=LIMIT_SECONDS, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return f"pip has not finished after {LIMIT_SECONDS} s"
    return "" if done.returncode == 0 else done.stdout


def main(folder, requirements):
    wanted = f"{sys.version}\n{requirements.read_text()}"
    stamp = folder / "lockstep-installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        problem = install(folder, requirements)
        if problem:
            print(f"NOT TESTED: what {requirements.name} names cannot be installed.\n{problem}")
            return 77
        stamp.write_text(wanted)
    print(folder / "bin/python")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:3])))
