"""What lockstepd keeps in memory, and what it costs to listen, where much stands: on real servers, by lockstep-dev of a build.

standing.py [--build FOLDER] [--json FILE] WHAT [--count N] [--seconds S]

WHAT is one of
  held        N handlers wait for a kernel that does not answer (max_in_flight=50000)
  backlog     N jobs are RUNNING, and then N more wait in the stream because no worker has room
  heartbeats  N workers beat every five seconds, and nobody submits
  commands    what N jobs cost Redis: by their scripts, by scripts that only call the same commands, and by the commands without scripts

Prints what it did, the peak of lockstepd's resident memory (VmHWM), and of `heartbeats` the part of a core that it used, over S seconds.

Exits with 0 when it has measured, 1 when what it waited for did not come, 2 for wrong use, 4 when a program is not installed or built.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from replay import commands
from world import EACH_TURN, PATIENCE, Failed, NotTried, World, until

MEASURED, FAILED, NOT_TRIED = 0, 1, 4
BEAT_SECONDS = 5
RUNNING, PENDING = "job:index:running", "job:index:pending"


def peak(world):
    return world.lockstepd.kibibytes("VmHWM") / 1024


def held(programs, folder, count, _seconds):
    # The lock has to outlive the question, and the answer may come after all have been read.
    environment = {"LOCKSTEP_MAX_IN_FLIGHT": 50000, "NATS_MAX_ACK_PENDING": 50000, "LOCKSTEP_SAFETY_TIMEOUT": "10m", "LOCKSTEP_JOB_LOCK_TTL": "20m",
                   "NATS_JS_ACK_WAIT": "20m"}
    with World(programs, folder, environment) as world:
        world.stop(world.kernel)
        idle = peak(world)
        world.submit("held", count)
        until(lambda: len(world.redis("KEYS", "cordum:scheduler:job:*")) >= count, f"{count} jobs under a lock", PATIENCE + count // 100)
        return {"idle_mib": idle, "peak_mib": peak(world), "kib_per_handler": (peak(world) - idle) * 1024 / count}


def backlog(programs, folder, count, seconds):
    with World(programs, folder, {}) as world:
        world.stop(world.worker)  # it would end what waits
        for name in ("full-1", "full-2"):
            # A worker is full from nine tenths on.
            world.start("lockstep-worker", "--id", name, "--max-parallel", str(count * 5 // 9 + 1), "--service-time", "1h")
        idle = peak(world)
        world.submit("running", count)
        until(lambda: world.redis("ZCARD", RUNNING) >= count * 99 // 100, f"{count} jobs in {RUNNING}", PATIENCE + count // 50)
        before = peak(world)
        world.submit("waiting", count)
        time.sleep(seconds)
        return {"idle_mib": idle, "running": world.redis("ZCARD", RUNNING), "waiting": world.redis("ZCARD", PENDING), "peak_running_mib": before,
                "peak_mib": peak(world)}


def field(number, value):
    """Of a message of protobuf, as it goes over the wire."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def varint(value):
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def heartbeat(worker, active_jobs):
    beat = field(1, worker.encode()) + field(2, b"zone-1") + field(6, active_jobs) + field(11, b"default") + field(12, 100)
    return field(2, worker.encode()) + field(4, 1) + field(12, beat)


def heartbeats(programs, folder, count, seconds):
    with World(programs, folder, {}) as world, socket.create_connection(("127.0.0.1", world.nats_port)) as nats:
        nats.makefile("rb").readline()
        nats.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\n')

        def beat_for(span):
            """Each worker at its own moment of the five seconds, like workers."""
            began, sent = time.monotonic(), 0
            while (now := time.monotonic() - began) < span:
                due, lines = int(now / BEAT_SECONDS * count), []
                for number in range(sent, due):
                    worker, beats = number % count, number // count
                    body = heartbeat(f"bench-{worker}", (worker * 7 + beats * 3) % 100)
                    lines.append(b"PUB sys.heartbeat %d\r\n%s\r\n" % (len(body), body))
                nats.sendall(b"".join(lines))
                sent = due
                time.sleep(EACH_TURN)
            return sent

        beat_for(2 * BEAT_SECONDS)
        before, began = world.lockstepd.cpu_seconds(), time.monotonic()
        sent = beat_for(seconds)
        used = world.lockstepd.cpu_seconds() - before
        known = subprocess.run([str(programs / "lockstepctl"), "workers", "--json"], env={**os.environ, **world.addresses},
                               stdout=subprocess.PIPE, text=True, check=True).stdout.count('"bench-')
        if known < count:
            raise Failed(f"of {count} workers the snapshot names {known}")
        return {"heartbeats": sent, "part_of_a_core": used / (time.monotonic() - began), "us_per_heartbeat": used / sent * 1e6, "peak_mib": peak(world)}


WHAT = {"commands": (commands, 4000), "held": (held, 50000), "backlog": (backlog, 100000), "heartbeats": (heartbeats, 9997)}  # a replica knows ten thousand workers at most, and lockstep-dev has three


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"), help="folder of a build (build/release)")
    parser.add_argument("--count", type=int, help="how many jobs or workers")
    parser.add_argument("--seconds", type=float, default=30, help="how long (30)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    words = parser.parse_args()
    measure, usual = WHAT[words.what]
    count = usual if words.count is None else words.count
    if count < 1:
        parser.error("--count: expected at least 1")
    programs = words.build.resolve() / "bin"
    try:
        for program in ("redis-server", "nats-server"):
            if not shutil.which(program):
                raise NotTried(f"{program} is not installed; ./dev deps installs it")
        if not (programs / "lockstep-dev").exists():
            raise NotTried(f"{programs / 'lockstep-dev'} is not built; ./dev bench builds it")
        with tempfile.TemporaryDirectory() as folder:
            figures = {"count": count, **measure(programs, pathlib.Path(folder), count, words.seconds)}
    except NotTried as missing:
        print(f"standing.py: {missing}", file=sys.stderr)
        return NOT_TRIED
    except Failed as failure:
        print(f"standing.py: {words.what}: {failure}", file=sys.stderr)
        return FAILED
    print(words.what, *(f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()), sep="  ")
    if words.json:
        words.json.write_text(json.dumps({words.what: figures}, indent=2) + "\n")
    return MEASURED


if __name__ == "__main__":
    sys.exit(main())
