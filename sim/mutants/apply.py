#!/usr/bin/env python3
"""Checks the planted defects of sim/mutants/patches against the engine's sources, and writes the sources that hold them.

    apply.py --check                 every patch still fits
    apply.py --out FOLDER FILE...    copies of these sources and headers of these scripts under FOLDER, with all defects, and
                                     FOLDER/mutants.h with the names
    apply.py --list [--aside|--all]  names: those that are not kept aside, those that are, or all

A patch and its fields are described in README.md beside this file.
"""
import argparse
import hashlib
import pathlib
import re
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
PLACE = "$MUTANT"
SCRIPT_HEADER = re.compile(r'^#include "(engine/[^"]+\.lua)\.h"', re.MULTILINE)
FIELDS = {"class", "what", "breaks", "file", "aside", "equivalent", "data-loss"}
ORIGINAL, MUTATED = "--- original\n", "--- mutated\n"


class Mistake(Exception):
    """What is wrong with a patch, where, and the way out."""


@dataclass(frozen=True)
class Mutant:
    name: str
    fields: dict
    original: str
    mutated: str

    @property
    def number(self):
        """Of the name alone, so that a new patch does not change what the others have been compiled to."""
        return int(hashlib.sha256(self.name.encode()).hexdigest()[:7], 16) + 1

    @property
    def file(self):
        return self.fields["file"]

    @property
    def aside(self):
        return self.fields.get("aside") == "yes"

    @property
    def data_loss(self):
        """Whose loss of data its draws have: redis, nats or both; empty: nobody's."""
        return self.fields.get("data-loss", "")

    @property
    def equivalent(self):
        """Why nobody can tell it from the original; empty: it is a defect."""
        return self.fields.get("equivalent", "")

    @property
    def room(self):
        return str(pathlib.PurePosixPath(self.file).parent)


def parse(path):
    text = path.read_text(encoding="utf-8")
    head, found_original, rest = text.partition(ORIGINAL)
    original, found_mutated, mutated = rest.partition(MUTATED)
    if not (found_original and found_mutated and original and mutated):
        raise Mistake(f"{path}: expected fields, '--- original' and a text, '--- mutated' and a text")
    fields = {}
    for line in head.splitlines():
        name, colon, value = line.partition(": ")
        if not colon or name not in FIELDS:
            raise Mistake(f"{path}: '{line}' is no field; there are {', '.join(sorted(FIELDS))}")
        fields[name] = value.strip()
    for name in ("class", "what", "file"):
        if not fields.get(name):
            raise Mistake(f"{path}: the field '{name}' is missing; add the line '{name}: ...'")
    if PLACE not in mutated:
        raise Mistake(f"{path}: the mutated text does not say {PLACE}; without it the defect could not be switched off")
    return Mutant(path.stem, fields, original.removesuffix("\n"), mutated.removesuffix("\n"))


def mutants(folder=HERE / "patches"):
    """All of them, by name."""
    known = [parse(path) for path in sorted(folder.glob("*.mutant"))]
    if len({mutant.number for mutant in known}) < len(known):
        raise Mistake(f"{folder}: two names have the same number by chance; give one of the youngest patches another name")
    return known


def fit(all_mutants, root):
    """{file: [(begin, end, mutant)]}, in the order of the file. Tells of every patch that does not fit."""
    places, mistakes = {}, []
    for mutant in all_mutants:
        source = root / mutant.file
        if not source.is_file():
            mistakes.append(f"{mutant.name}: there is no {mutant.file}; name the file that its text has moved to, or "
                            f"delete sim/mutants/patches/{mutant.name}.mutant")
            continue
        text = source.read_text(encoding="utf-8")
        count = text.count(mutant.original)
        if count != 1:
            mistakes.append(f"{mutant.name}: its original text occurs {count} times in {mutant.file}, and must once; "
                            f"write it anew in sim/mutants/patches/{mutant.name}.mutant after what stands there now, or "
                            "delete the patch if what it breaks is gone")
            continue
        begin = text.index(mutant.original)
        if mutant.mutated.startswith("if ") and text[begin - 1:begin] in (".", ">", ":"):
            mistakes.append(f"{mutant.name}: its mutated text is a statement, and its original text begins inside one; "
                            "take in the whole statement")
            continue
        places.setdefault(mutant.file, []).append((begin, begin + len(mutant.original), mutant))
    for file, spans in places.items():
        spans.sort(key=lambda span: span[0])
        for before, after in zip(spans, spans[1:]):
            if after[0] < before[1]:
                mistakes.append(f"{after[2].name}: its text overlaps that of {before[2].name} in {file}; shorten one")
    mistakes += including(root, places)
    if mistakes:
        raise Mistake("patches do not fit the engine:\n  " + "\n  ".join(mistakes))
    return places


def including(root, places):
    """Mistakes: files that take the text of a mutated script and are not compiled anew, where its mutants would stay off."""
    others = [path for folder in ("fakes", "reports", "sim") for path in sorted((root / folder).rglob("*.*"))]
    for path in sorted((root / "engine").rglob("*.h")) + [path for path in others if path.suffix in (".cpp", ".h")]:
        for script in SCRIPT_HEADER.findall(path.read_text(encoding="utf-8")):
            if script in places:
                yield (f"{path.relative_to(root)} includes {script}.h, and lockstep-mutants would keep the original text there; "
                       "include it in sources of engine/ only")


def all_compiled(places, files):
    """Refuses mutants in files that lockstep-mutants is not made from: they could not be switched on."""
    left = sorted(places.keys() - set(files))
    if left:
        raise Mistake(f"{places[left[0]][0][2].name}: {left[0]} is no part of lockstep_engine; name the file that its text has "
                      "moved to, or delete the patch")


def constant_of(script):
    """The name that .cmake/embed.cmake gives to the constant."""
    return "k" + "".join(word[:1].upper() + word[1:] for word in script.stem.replace("-", "_").split("_"))


def mutated_source(file, text, spans):
    """The copy of a C++ file with all its mutants, which it registers."""
    pieces, at = [], 0
    for begin, end, mutant in spans:
        pieces += [text[at:begin], mutant.mutated.replace(PLACE, f"::lockstep::mutants::is_on({mutant.number})")]
        at = end
    head = ""
    if spans:
        # Several sources may share a translation unit, so the object has a name of its own.
        name = re.sub(r"\W", "_", file)
        numbers = ", ".join(str(mutant.number) for _, _, mutant in spans)
        head = ('#include "sim/mutants/active.h"\n'
                f"static const ::lockstep::mutants::Registration kMutantsOf_{name}({{{numbers}}});\n")
    return f'{head}#line 1 "{file}"\n{"".join(pieces)}{text[at:]}'


def mutated_script(file, text, spans):
    """The header that holds a script and registers its mutants. Where its mutant is off a place reads as it always did: the
    server sees the same text."""
    def literal(piece):
        return f'R"embedded({piece})embedded"'

    pieces, at = [], 0
    for begin, end, mutant in spans:
        pieces.append(f'{{0, {literal(text[at:begin])}, ""}}')
        pieces.append(f"{{{mutant.number}, {literal(mutant.original)}, {literal(mutant.mutated.replace(PLACE, 'true'))}}}")
        at = end
    pieces.append(f'{{0, {literal(text[at:])}, ""}}')
    listing = ",\n    ".join(pieces)
    return ('#pragma once\n\n#include <string_view>\n\n#include "sim/mutants/script.h"\n\n'
            "namespace lockstep::engine::scripts {\n\n"
            # Made before any other object of the program, since the initialiser of one may read it.
            f"[[gnu::init_priority(101)]] inline const std::string_view {constant_of(pathlib.PurePosixPath(file))} =\n"
            f"    ::lockstep::mutants::script({{\n    {listing}}});\n\n"
            "}  // namespace lockstep::engine::scripts\n")


def write(path, text):
    """Only where it changes: what stays is not compiled again."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="planted defects of the engine")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--check", action="store_true", help="every patch fits the sources")
    task.add_argument("--out", type=pathlib.Path, help="folder of the mutated sources")
    task.add_argument("--list", action="store_true", help="print names")
    parser.add_argument("files", nargs="*", metavar="FILE", help="with --out: all sources and scripts of the engine, from the tree's root")
    parser.add_argument("--aside", action="store_true", help="with --list: those that are kept aside")
    parser.add_argument("--all", action="store_true", help="with --list: all")
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent, help="of the tree")
    options = parser.parse_args()
    try:
        known = mutants()
        places = fit(known, options.root)
        if options.out:
            all_compiled(places, options.files)
    except Mistake as mistake:
        print(f"mutants: {mistake}", file=sys.stderr)
        return 1
    if options.list:
        print("\n".join(mutant.name for mutant in known if options.all or mutant.aside == options.aside))
    elif options.check:
        print(f"{len(known)} mutants in {len(places)} files, {sum(mutant.aside for mutant in known)} of them aside")
    else:
        for file in options.files:
            text, spans = (options.root / file).read_text(encoding="utf-8"), places.get(file, [])
            if file.endswith(".cpp"):
                write(options.out / file, mutated_source(file, text, spans))
            else:
                write(options.out / (file + ".h"), mutated_script(file, text, spans))
        names = "".join(f'    {{{mutant.number}, "{mutant.name}"}},\n' for mutant in known)
        write(options.out / "mutants.h", "#pragma once\n\n#include <array>\n#include <string_view>\n\n"
              "namespace lockstep::mutants {\n\nstruct Known {\n    int number;\n    std::string_view name;\n};\n\n"
              f"inline constexpr std::array<Known, {len(known)}> kKnown{{{{\n{names}}}}};\n\n"
              "}  // namespace lockstep::mutants\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
