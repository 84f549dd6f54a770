"""Holds what fixed work takes to the counts that are kept.

check.py [--kept FILE] [--build FOLDER] [--accept [--because TEXT]] [GROUP ...]

FILE (kept.json beside this) has groups of counts. Each count says how much a job takes, what that is, and by how many percent it may
differ; more and less are both told, so that what was gained is kept as well. A group also says by how many percent a job may cost more
where there are more jobs: what the second half of them takes is held to what the first half does. The group `sources` counts something of
the sources as a whole (sources.py), so it names no jobs.

--accept writes what was counted into FILE for each count that differs by more than it may, and leaves the others, so that small growth
does not add up unseen. What costs more needs --because: what is had for it, which is written beside the count.

Exits with 0 when all is kept, 1 when not, 2 for wrong use, 3 when something could not be counted, 77 (ctest: skipped) when a program
that counts is not installed.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import sources

HERE = pathlib.Path(__file__).resolve().parent
KEPT, DIFFERS, WRONG_USE, BROKEN, SKIPPED = 0, 1, 2, 3, 77


class Broken(Exception):
    """Something could not be counted."""


class NotInstalled(Exception):
    """Of a program that does the counting."""


def output_of(*command):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Broken(f"{' '.join(map(str, command))} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def built(program):
    if not program.exists():
        raise Broken(f"{program} is not built; ./dev counts builds it")
    return program


# Each of these returns, for so many jobs, {count: how much in all}.


def counted_by_run(what):
    def count(build, jobs):
        printed, _ = output_of(built(build / "bench/counts/count_run"), what, jobs)
        return json.loads(printed)
    return count


def instructions_of(what, program, jobs, folder):
    _, told = output_of("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out", "--collect-atstart=no",
                        "--toggle-collect=counted_work", program, what, jobs)
    collected = re.search(r"Collected : (\d+)", told)
    if not collected or int(collected[1]) == 0:
        raise Broken(f"valgrind counted nothing:\n{told}")
    return int(collected[1])


def counted_by_valgrind(build, jobs):
    if not shutil.which("valgrind"):
        raise NotInstalled("valgrind is not installed; ./dev deps installs it")
    with tempfile.TemporaryDirectory() as folder:
        # Valgrind 3.19 cannot read what clang 19 writes for debuggers. Names it finds nevertheless.
        program = pathlib.Path(folder) / "count_run"
        output_of("strip", "-g", "-o", program, built(build / "bench/counts/count_run"))
        in_all = instructions_of("work", program, jobs, folder)
        return {"instructions": in_all, "judging": in_all - instructions_of("unjudged", program, jobs, folder)}


def counted_by_servers(build, jobs):
    for server in ("redis-server", "nats-server"):
        if not shutil.which(server):
            raise NotInstalled(f"{server} is not installed; ./dev deps installs it")
    with tempfile.TemporaryDirectory() as folder:
        figures = pathlib.Path(folder) / "figures.json"
        output_of(built(build / "bench/bin/lockstep-load"), jobs, "--json", figures)
        loop = json.loads(figures.read_text())["variants"][0]["rounds"][0]["closed_loop"]
    redis = loop["redis_per_job"]
    return {name: redis[name] * jobs for name in ("evalsha", "commands", "bytes_in", "bytes_out")}


def counted_of_sources(build, _jobs):
    try:
        return {count.__name__: count(HERE.parents[1], build) for count in sources.COUNTS}
    except sources.NotInSight as error:
        raise Broken(error) from error


HOW = {
    "traffic": counted_by_run("traffic"),
    "allocations": counted_by_run("allocations"),
    "instructions": counted_by_valgrind,
    "servers": counted_by_servers,
    "sources": counted_of_sources,
}


def percent_more(now, before):
    return (now / before - 1) * 100 if before else (0.0 if now == before else float("inf"))


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def more_or_less(percent):
    return f"{abs(percent):.1f} % {'more' if percent > 0 else 'less'}"


def rounded(value):
    """Enough digits that no tolerance is eaten by rounding."""
    return round(value) if value >= 10000 else float(f"{value:.5g}")


def measure_of(group):
    """The name of a count's value in the file: what a job takes, or all of it."""
    return "per_job" if "jobs" in group else "in_all"


def differences(group, counted):
    """(count, its percent, sentence) of each count that differs by more than it may; {count: value} is what was counted."""
    kept, measure = group["counts"], measure_of(group)
    words = measure.replace("_", " ")
    for name in sorted(kept.keys() - counted.keys()):
        yield name, 0.0, f"{name} is kept and was not counted: take it out of the file, or count it"
    for name, now in counted.items():
        if name not in kept:
            yield name, 0.0, f"{name} was counted ({number(now)} {words}) and is not kept: give it a place in the file"
            continue
        before = kept[name][measure]
        percent = percent_more(now, before)
        if abs(percent) > kept[name]["may_differ_percent"]:
            yield name, percent, (f"{name} {words}: was {number(before)}, is {number(now)}: {more_or_less(percent)}, "
                                  f"may differ by {kept[name]['may_differ_percent']} % ({kept[name]['is']})")


def growth_with_jobs(group, totals):
    """A sentence for each count of which later jobs take more than earlier ones; [{count: total}] in the order of the group's jobs."""
    if len(totals) < 3:
        return
    few, some, many = group["jobs"]
    for name in totals[0]:
        early = (totals[1][name] - totals[0][name]) / (some - few)
        late = (totals[2][name] - totals[1][name]) / (many - some)
        percent = percent_more(late, early)
        if percent > group["may_grow_with_jobs_percent"]:
            yield (f"{name} grows with the number of jobs: {number(early)} for each from {few} to {some}, {number(late)} for each from {some} "
                   f"to {many}: {more_or_less(percent)}, may be {group['may_grow_with_jobs_percent']} % more")


def written(kept):
    """The document with a count a line, which makes small differences between versions."""
    text = json.dumps(kept, indent=2, ensure_ascii=False)
    innermost = re.compile(r"(\{\n\s*\"(?:per_job|in_all)\"|\[)[^{}\[\]]*[}\]]")
    return innermost.sub(lambda found: re.sub(r"(?<=[{\[]) | (?=[}\]])", "", re.sub(r"\n\s*", " ", found[0])), text) + "\n"


def accept(group, counted, because):
    """Takes over what differs. The names of counts that cost more while nothing is said of what for."""
    unexplained, measure = [], measure_of(group)
    for name, percent, _ in list(differences(group, counted)):
        if name not in counted or name not in group["counts"]:
            continue
        if percent > 0 and not because:
            unexplained.append(name)
            continue
        entry = group["counts"][name]
        print(f"  accepted: {name} {number(entry[measure])} -> {number(counted[name])}")
        entry[measure] = rounded(counted[name])
        entry.pop("because", None)
        if percent > 0:
            entry["because"] = because
    return unexplained


def shown(file):
    """As the repository calls it, where it is of the repository."""
    root = HERE.parents[1]
    return file.resolve().relative_to(root) if file.resolve().is_relative_to(root) else file


def judge(name, group, build, arguments):
    """The status of a group, which with --accept is changed."""
    jobs, measure = group.get("jobs", [1]), measure_of(group)
    try:
        totals = [HOW[name](build, number_of) for number_of in jobs]
    except NotInstalled as missing:
        print(f"skipped: {name}: {missing}")
        return SKIPPED
    except (Broken, OSError, ValueError, KeyError) as error:
        print(f"{name}: {error}")
        return BROKEN
    counted = {count: total / jobs[-1] for count, total in totals[-1].items()}
    print(f"{name}, {jobs[-1]} jobs:" if "jobs" in group else f"{name}:")
    for count, now in counted.items():
        kept = group["counts"].get(count)
        print(f"  {count:16} {number(now):>12} {measure.replace('_', ' ')}" + (f", kept: {number(kept[measure])}" if kept else ""))
    unexplained = accept(group, counted, arguments.because) if arguments.accept else []
    told = [sentence for _, _, sentence in differences(group, counted)]
    grown = list(growth_with_jobs(group, totals))
    for sentence in told + grown:
        print(f"NOT KEPT: {sentence}")
    if unexplained:
        print("To accept what costs more, say what is had for it: --accept --because 'TEXT'")
    elif told:
        print(f"If that is meant, ./dev counts --accept writes it into {shown(arguments.kept)}; what costs more needs --because 'what is had for it'.")
    if grown:
        print(f"If that is meant, change may_grow_with_jobs_percent of {name} in {shown(arguments.kept)}.")
    return DIFFERS if told or grown else KEPT


def main(words):
    parser = argparse.ArgumentParser(prog="check.py", description="Holds what fixed work takes to the counts that are kept.")
    parser.add_argument("--kept", type=pathlib.Path, default=HERE / "kept.json", help="the file with the counts")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build/release", help="the folder of the build")
    parser.add_argument("--accept", action="store_true", help="write what was counted where it differs by more than it may")
    parser.add_argument("--because", default="", help="what is had for counts that have grown")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(HOW)}; none: all")
    arguments = parser.parse_args(words)
    if arguments.because and not arguments.accept:
        parser.error("--because: it is for --accept")
    for name in arguments.groups:
        if name not in HOW:
            parser.error(f"there is no group {name}; groups: {', '.join(HOW)}")
    try:
        kept = json.loads(arguments.kept.read_text())
        groups = {name: kept[name] for name in arguments.groups or HOW}
    except (OSError, ValueError) as error:
        parser.error(f"{arguments.kept}: {error}")
    except KeyError as error:
        parser.error(f"{arguments.kept}: there is no group {error}")
    before = written(kept)
    statuses = [judge(name, group, arguments.build, arguments) for name, group in groups.items()]
    if written(kept) != before:
        arguments.kept.write_text(written(kept))
    return next((status for status in (BROKEN, DIFFERS, SKIPPED) if status in statuses), KEPT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
