#!/usr/bin/env python3
"""Looks for each planted defect as a user would, and writes the table of what was found by what.

For each mutant in turn: the happy path; explorations of drawn clusters up to the first failure; the scenario folder. What has been
learnt is kept in a file beside the program, so that a search that was stopped goes on, and one with more draws begins where the last
one ended. Where there is no such file, the draws that the table names are made first. Of another program, only those are found that fail at the same draw again. `--anew` begins again. A draw in which a run without any mutant never comes to where
this one changes something goes as without it, and is not made; nor is one that fails without any. See README.md beside this file.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import apply
import together

QUICK = 20  # draws; what is found by then anybody would notice
STEP = 100  # draws between two notes of how far a search has come
# Of the processor, so that a busy machine is not taken for a mutant that hangs. A draw takes a fifth of a second.
SECONDS_PER_RUN = 60
SECONDS_PER_DRAW = 5
FINE = (0, 4)  # 4: nothing failed, and something was not put to the test
TREE = apply.HERE.parent.parent
HAPPY_PATH = "scenarios/happy-path.json"


class Program:
    """`lockstep-mutants`, with or without a mutant."""

    def __init__(self, path, jobs):
        self.path, self.jobs = path, str(jobs)

    def run(self, mutant, arguments, seconds):
        """The exit code (128 and more: a signal) and the output."""
        command = [str(self.path)] + (["--mutant", mutant] if mutant else []) + arguments + ["-j", self.jobs]
        limit = int(seconds)
        done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10)))
        if done.returncode == 2:
            raise apply.Mistake(f"{' '.join(command)}: {done.stdout.strip()}\nbuild it anew: cmake --build --preset mutants")
        return (128 - done.returncode if done.returncode < 0 else done.returncode), done.stdout

    def happy(self, mutant):
        """How the happy path fails; empty: it does not."""
        code, output = self.run(mutant, ["run", HAPPY_PATH, "--allow-vacuous"], SECONDS_PER_RUN)
        return "" if code in FINE else trouble(code) or first_line(output, "the happy path fails")

    def explore(self, mutant, first, count, data_loss=""):
        """(draw, what) of the first failure, or nothing."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mutant-"))
        try:
            losing = ["--data-loss", data_loss] if data_loss else []
            code, output = self.run(mutant, ["explore", "--first", str(first), "--seeds", str(count), "--out", str(folder)] + losing,
                                    SECONDS_PER_RUN + count * SECONDS_PER_DRAW)
            if code in FINE:
                return None
            found = failures_in(folder)
            if found:
                return min(found)
            return first + count - 1, trouble(code) or first_line(output, "the exploration fails")
        finally:
            shutil.rmtree(folder)

    def failures(self, mutants, first, count):
        """The draws that fail with all of these, in order; where the program does not come to an end, all of them."""
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            code, _ = self.run(",".join(mutants), ["explore", "--keep-going", "--first", str(first), "--seeds", str(count), "--out", folder],
                               SECONDS_PER_RUN + count * SECONDS_PER_DRAW)
            if trouble(code):
                return list(range(first, first + count))
            return [] if code in FINE else sorted({draw for draw, _ in failures_in(pathlib.Path(folder))})

    def reached(self, draw):
        """The mutants in C++ whose places this draw comes to without any, and whether it fails then."""
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            names = pathlib.Path(folder) / "reached"
            done = subprocess.run([str(self.path), "--reached", str(names), "explore", "--first", str(draw), "--seeds", "1", "-j", "1",
                                   "--out", folder], cwd=TREE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return names.read_text(encoding="utf-8").split(), done.returncode not in FINE

    def scenarios(self, mutant, known):
        """The scenario files that fail, without those that fail without the mutant."""
        # A report takes the place of the file that stood there.
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            report = pathlib.Path(folder) / "report.json"
            code, output = self.run(mutant, ["run", "scenarios", "--json", str(report), "--allow-vacuous"],
                                    40 * SECONDS_PER_RUN)
            text = report.read_text(encoding="utf-8") if report.is_file() else ""
        if code in FINE:
            return []
        try:
            results = json.loads(text)["results"]
        except (ValueError, KeyError):
            results = []
        if not results:
            return [trouble(code) or first_line(output, "the scenarios fail")]
        failed = {place_of(one) for one in results if not one.get("passed", False)}
        return sorted(failed - set(known))


def trouble(code):
    if code == 128 + 24:
        return "the harness: it takes more time than a run can take"
    if code >= 128:
        return f"the harness: signal {code - 128}"
    return "the harness" if code == 3 else ""


def first_line(output, otherwise):
    for line in output.splitlines():
        if line.startswith(("FAILED", "FOUND")):
            return line[:160]
    return otherwise


def read_failure(path):
    try:
        failure = json.loads(path.read_text(encoding="utf-8"))
        return int(failure["origin"].rsplit(" ", 1)[1]), failure["violation"]["invariant"]
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None


def failures_in(folder):
    """[(draw, what)] of the failures that an exploration has written there."""
    return [one for one in (read_failure(path) for path in folder.glob("*-draw*.json")) if one]


def place_of(result):
    return result.get("file") or result.get("path") or result.get("scenario") or result.get("name") or "?"


class Notes:
    """What has been learnt, by mutant. One whose patch has changed is not known any more."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def of(self, mutant, anew):
        patch = hashlib.sha256(f"{mutant.file}\n{mutant.original}\n{mutant.mutated}".encode()).hexdigest()[:16]
        note = self.known.get(mutant.name)
        if anew or note is None or note["patch"] != patch:
            note = self.known[mutant.name] = {"patch": patch, "draws": 0}
        return note

    def save(self):
        spare = self.path.with_suffix(".new")
        spare.write_text(json.dumps(self.known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(spare, self.path)


def remember(note, row):
    """What a table says of one that was never searched for here. It counts only when this program has said the same."""
    if "program" in note or note["draws"] or row is None:
        return
    kind, words = row
    draw = re.fullmatch(r"(.+), draw (\d+)", words)
    if kind in ("found", "at once") and draw:
        note["found"] = {"draw": int(draw[2]), "by": draw[1]}
    elif kind == "crude":
        note["happy"] = words


def confirm(program, mutant, note, reach):
    """What was learnt with another program counts only where this one says the same: the draw that found it is made again. Of one
    that was not found, nothing is known any more."""
    if note.get("program") == reach.identity:
        return
    found = note.get("found")
    sound = found and (mutant.data_loss or found["draw"] not in reach.failing)
    again = program.explore(mutant.name, found["draw"], 1, mutant.data_loss) if sound else None
    happy = program.happy(mutant.name) if note.get("happy") else ""
    note.update(draws=found["draw"] if again else 0, program=reach.identity)
    for name in ("found", "together", "scenarios", "happy"):
        note.pop(name, None)
    if again:
        note.update(found={"draw": found["draw"], "by": again[1]}, happy="")
    elif happy:
        note["happy"] = happy


class Reach:
    """Which mutants each draw comes to, as far as it has been asked about; of this very program."""

    def __init__(self, program, path):
        self.program, self.path = program, path
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        identity = hashlib.sha256(program.path.read_bytes()).hexdigest()
        self.known = known if known.get("program") == identity else {"program": identity, "draws": 0, "by": {}, "failing": []}

    @property
    def identity(self):
        return self.known["program"]

    @property
    def failing(self):
        """The draws that fail without any mutant: they tell nothing about one."""
        return self.known["failing"]

    def learn(self, draws):
        first = self.known["draws"] + 1
        if draws < first:
            return
        print(f"which mutants draws {first} to {draws} come to", flush=True)
        with ThreadPoolExecutor(int(self.program.jobs)) as pool:
            for draw, (names, fails) in zip(range(first, draws + 1), pool.map(self.program.reached, range(first, draws + 1))):
                if fails:
                    self.failing.append(draw)
                    print(f"draw {draw} fails without any mutant, and is left out", flush=True)
                for name in names:
                    self.known["by"].setdefault(name, []).append(draw)
        self.known["draws"] = draws
        self.path.write_text(json.dumps(self.known), encoding="utf-8")

    def spans(self, mutant, first, count):
        """[(first, count)] of the draws among these that have to be made."""
        if mutant.data_loss:  # other draws, of which nothing is known
            return [(first, count)]
        draws = self.known["by"].get(mutant.name, []) if mutant.file.endswith(".cpp") else range(first, first + count)
        spans = []
        for draw in draws:
            if not first <= draw < first + count or draw in self.failing:
                continue
            if spans and spans[-1][1] + 1 >= draw:
                spans[-1][1] = draw
            else:
                spans.append([draw, draw])
        return [(begin, end - begin + 1) for begin, end in spans]

    def number(self, mutant):
        return len(self.known["by"].get(mutant.name, []))


def search(program, mutant, note, options, save, reach):
    if "happy" not in note:
        note["happy"] = program.happy(mutant.name)
        save()
    alone = min(options.seeds, QUICK) if options.together and not mutant.data_loss else options.seeds
    while not note["happy"] and "found" not in note and note["draws"] < alone:
        # In order, and first as many as count apart: what is found by one job or by two is the same draw.
        count = min(QUICK - note["draws"] if note["draws"] < QUICK else STEP, alone - note["draws"])
        for first, number in reach.spans(mutant, note["draws"] + 1, count):
            found = program.explore(mutant.name, first, number, mutant.data_loss)
            if found:
                note["found"] = {"draw": found[0], "by": found[1]}
                break
        note["draws"] += count
        save()


def search_scenarios(program, mutant, note, failing_anyway):
    if not note["happy"] and "found" not in note and "scenarios" not in note:
        note["scenarios"] = program.scenarios(mutant.name, failing_anyway)


def verdict(mutant, note):
    """(kind, words for the table)."""
    if mutant.equivalent:
        return "equivalent", mutant.equivalent
    if not note or "happy" not in note:
        return "not searched", ""
    if note["happy"]:
        return "crude", note["happy"]
    if "found" in note:
        draw, by = note["found"]["draw"], note["found"]["by"]
        return ("at once" if draw <= QUICK else "found"), f"{by}, draw {draw}"
    if note.get("scenarios"):
        files = note["scenarios"]
        return "scenario", f"not in {note['draws']} draws; {files[0]}" + (f" and {len(files) - 1} more" if files[1:] else "")
    told = [f"{note['draws']} draws" + (f" and {together.done_by(note) - note['draws']} in company" if "together" in note else "")]
    if "reached" in note:
        told.append(f"its place reached in {note['reached']}")
    if "scenarios" not in note:
        told.append("scenarios not run")
    return "survived", ", ".join(told)


KINDS = [("at once", f"found by exploration within {QUICK} draws"), ("found", "found by exploration later"),
         ("crude", "the happy path fails"), ("scenario", "caught by a scenario file only"),
         ("survived", "survived"), ("equivalent", "equivalent, not counted"), ("not searched", "not searched, not counted")]


def totals(title, judged):
    kinds = [kind for _, (kind, _) in judged]
    counted = sum(kind not in ("equivalent", "not searched") for kind in kinds)
    found = sum(kind in ("at once", "found", "crude") for kind in kinds)
    lines = [f"## {title}", "", "| | mutants | of those that count |", "| --- | --- | --- |"]
    for kind, words in KINDS:
        number = kinds.count(kind)
        share = f"{100 * number / counted:.1f} %" if counted and kind not in ("equivalent", "not searched") else ""
        lines.append(f"| {words} | {number} | {share} |")
    share = f"{100 * found / counted:.1f} %" if counted else ""
    later = sum(kind in ("found", "scenario", "survived") for kind in kinds)
    apart = f"{100 * kinds.count('found') / later:.1f} %" if later else ""
    lines += [f"| **exploration or the happy path** | {found} of {counted} | {share} |",
              f"| **exploration, without those that are found at once** | {kinds.count('found')} of {later} | {apart} |", ""]
    return lines


def rows_of(text):
    """{mutant: (kind, words)} of a table that was written before."""
    rows = {}
    for line in text.partition("\n## Each\n")[2].splitlines():
        cells = [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5:
            name, _, _, kind, words = (cell.strip() for cell in cells)
            rows[name.removesuffix(" (aside)")] = kind, words
    return rows


def table(mutants, notes, earlier):
    """`earlier`: rows that stand for the mutants which nobody has searched for here."""
    judged = []
    for mutant in mutants:
        kind, words = verdict(mutant, notes.known.get(mutant.name))
        judged.append((mutant, earlier.get(mutant.name, (kind, words)) if kind == "not searched" else (kind, words)))
    text = ["# What finds the planted defects", "",
            "Written by `sim/mutants/search.py`; README.md says how. Draws are those of `lockstep explore` with nothing else off; with `--data-loss` "
            "for a patch that asks for it.", ""]
    text += totals("Totals", [one for one in judged if not one[0].aside])
    text += totals("Kept aside", [one for one in judged if one[0].aside])
    text += ["## Each", "", "| mutant | file | what is wrong | | by what |", "| --- | --- | --- | --- | --- |"]
    for mutant, (kind, words) in judged:
        # What has not been searched and is kept aside stays unsaid.
        if kind == "not searched":
            continue
        name = mutant.name + (" (aside)" if mutant.aside else "")
        cells = [name, mutant.file.removeprefix("engine/"), mutant.fields["what"], kind, words]
        text.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(text) + "\n"


def chosen(mutants, options):
    by_name = {mutant.name: mutant for mutant in mutants}
    for name in options.names:
        if name not in by_name:
            raise apply.Mistake(f"there is no mutant {name}; sim/mutants/apply.py --list --all names them")
    wanted = [by_name[name] for name in options.names] or [one for one in mutants if one.aside == options.aside]
    return [mutant for mutant in wanted if not mutant.equivalent]


def main():
    parser = argparse.ArgumentParser(description="search for planted defects")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these, anew; default: all that are not kept aside")
    parser.add_argument("--aside", action="store_true", help="those that are kept aside")
    parser.add_argument("--anew", action="store_true", help="forget what was learnt about them before")
    parser.add_argument("--seeds", type=int, default=1000, help="draws for each; default 1000")
    parser.add_argument("--together", type=int, metavar="N", default=0,
                        help=f"after {QUICK} draws search for up to N at once, as together.py says")
    parser.add_argument("--no-scenarios", dest="scenarios", action="store_false", help="leave the scenario folder out")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="runs at once")
    parser.add_argument("--program", type=pathlib.Path, default=TREE / "build/release/bin/lockstep-mutants")
    parser.add_argument("--table", type=pathlib.Path, default=apply.HERE / "results.md", help="where the table goes")
    options = parser.parse_args()
    try:
        return search_all(options)
    except apply.Mistake as mistake:
        print(f"mutants: {mistake}", file=sys.stderr)
        return 2


def search_all(options):
    mutants = apply.mutants()
    selected = chosen(mutants, options)
    if not options.program.is_file():
        raise apply.Mistake(f"there is no {options.program}; build it: cmake --preset mutants && cmake --build --preset mutants")
    program = Program(options.program.resolve(), options.jobs)
    unharmed = program.happy("")
    if unharmed:
        raise apply.Mistake(f"without a mutant the happy path fails already: {unharmed}; mend that first")
    reach = Reach(program, options.program.parent / "reached.json")
    reach.learn(options.seeds)
    failing_anyway = program.scenarios("", []) if options.scenarios else []
    notes = Notes(options.program.parent / "mutants.json")
    earlier = rows_of(options.table.read_text(encoding="utf-8")) if options.table.is_file() else {}

    def tell(mutant):
        note = notes.of(mutant, False)
        if mutant.file.endswith(".cpp") and "found" not in note and not mutant.data_loss:
            note["reached"] = reach.number(mutant)
        notes.save()
        kind, words = verdict(mutant, note)
        print(f"{mutant.name}: {kind}  {words}", flush=True)
        options.table.write_text(table(mutants, notes, earlier), encoding="utf-8")

    anew = options.anew or bool(options.names)
    if not anew:
        for mutant in selected:
            remember(notes.of(mutant, False), earlier.get(mutant.name))
    with ThreadPoolExecutor(int(program.jobs)) as pool:
        list(pool.map(lambda mutant: confirm(program, mutant, notes.of(mutant, anew), reach), selected))
    notes.save()
    for mutant in selected:
        search(program, mutant, notes.of(mutant, False), options, notes.save, reach)
        tell(mutant)
    if options.together:
        left = [mutant for mutant in selected if not mutant.data_loss and not notes.of(mutant, False)["happy"]
                and "found" not in notes.of(mutant, False)]
        for company in together.companies(left, options.together, reach):
            together.search_together(program, company, notes, options.seeds, reach, tell)
            for mutant in company:
                tell(mutant)
    if options.scenarios:
        for mutant in selected:
            search_scenarios(program, mutant, notes.of(mutant, False), failing_anyway)
            tell(mutant)
    print(f"the table: {options.table}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
