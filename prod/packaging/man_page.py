#!/usr/bin/env python3
"""The manual page of a program, made from its --help and that of its subcommands, so that it is never behind them.

man_page.py SECTION PROGRAM [NAME]   NAME is what the page calls it, if that is not the name of the file.
man_page.py --markdown SECTION NAME FILE   a page in Markdown as a manual page.
"""

import os
import re
import subprocess
import sys


def roff(text):
    """Text as it is: no line is taken for a request, and hyphens can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True,
                          env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"})
    return done.stdout


def split_help(text):
    """What stands above `Usage:`, the usage, and the rest as (title, lines); text below the last option has no title."""
    above, _, below = text.partition("Usage: ")
    usage, _, below = below.partition("\n")
    sections = []
    # What is not indented below indented lines goes on by itself.
    below = re.sub(r"(?m)^( .*\n)(?=\S)", r"\1\n", below)
    below = re.sub(r"(?m)^Exit codes: ", "\nExit status:\n", below)
    for block in re.split(r"\n\s*\n", below.strip("\n")):
        title, _, lines = block.strip("\n").partition("\n")
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", title) and lines:
            sections.append((title[:-1], lines.split("\n")))
        elif block.strip():
            sections.append(("", block.strip("\n").split("\n")))
    return above.strip(), usage, sections


def entries(lines):
    """Of a section of options or subcommands: each name with its text."""
    found = []
    for line in lines:
        entry = re.match(r"  (\S.*?)(?:\s{2,}(\S.*))?$", line)
        if entry and not line.startswith("   "):
            found.append((entry[1], [entry[2]] if entry[2] else []))
        elif found:
            found[-1][1].append(line.strip())
    return [(name, " ".join(words)) for name, words in found]


def subcommands(text):
    return [name.split()[0] for title, lines in split_help(text)[2] if title == "Subcommands" for name, _ in entries(lines)]


def sections_page(sections, heading):
    page = []
    for title, lines in sections:
        if title in ("Options", "Positionals", "Subcommands"):
            page += [heading(title)] if title else []
            for name, words in entries(lines):
                page += [".TP", rf"\fB{roff(name)}\fR", roff(words) or r"\&"]
        else:
            page += [heading(title)] if title else [".PP"]
            page += [".nf", roff("\n".join(line.rstrip() for line in lines)), ".fi"]
    return page


def program_page(section, program, name):
    text = help_of(program)
    above, usage, sections = split_help(text)
    sentence = re.split(r"[.:;]\s|[.:;]$", above.replace("\n", " "))[0]
    usage = usage.replace(os.path.basename(program), name, 1)
    page = [f'.TH {name.upper()} {section} "" Lockstep', ".SH NAME", rf"{roff(name)} \- {roff(sentence)}",
            ".SH SYNOPSIS", rf"\fB{roff(usage)}\fR", ".SH DESCRIPTION", roff(above)]
    page += sections_page(sections, lambda title: f".SH {title.upper()}")
    for sub in subcommands(text):
        above, usage, sections = split_help(help_of(program, sub))
        page += [f".SH {name.upper()} {sub.upper()}".replace("-", "\\-"), rf"\fB{roff(usage)}\fR", ".PP", roff(above)]
        page += sections_page(sections, lambda title: f".SS {title}")
    return "\n".join(page) + "\n"


def inline(text):
    text = re.sub(r"\[([^]]+)\]\(([^)]+)\)", r"\1", text)
    return re.sub(r"`([^`]+)`", lambda code: rf"\fB{code[1]}\fR", roff(text))


def markdown_page(section, name, path):
    page, in_code, paragraph = [], False, False
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    title = lines[0].lstrip("# ")
    page += [f'.TH {name.upper()} {section} "" Lockstep', ".SH NAME", rf"{roff(name)} \- {roff(title[0].lower() + title[1:])}",
             ".SH DESCRIPTION"]
    for line in lines[1:]:
        if line.startswith("```"):
            in_code = not in_code
            page.append(".PP\n.nf\n.RS 4" if in_code else ".RE\n.fi")
        elif in_code:
            page.append(roff(line) or r"\&")
        elif line.startswith("#"):
            level, words = line.split(" ", 1)
            page.append((".SH " if level == "##" else ".SS ") + roff(words))
            paragraph = False
        elif line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                page += [".TP", inline(cells[0]) or r"\&", inline(" – ".join(cells[1:])) or r"\&"]
        elif line.startswith(("- ", "* ")):
            page.append(".IP \\(bu 2\n" + inline(line[2:]))
        elif not line.strip():
            paragraph = True
        elif not line.startswith("<!--"):
            if paragraph:
                page.append(".PP")
            page.append(inline(line.strip()))
            paragraph = False
    return "\n".join(page) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "--markdown":
        sys.stdout.write(markdown_page(*sys.argv[2:5]))
    else:
        sys.stdout.write(program_page(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else os.path.basename(sys.argv[2])))
