"""Holds CHANGELOG.md to its form and to the version of the build.

changelog_test.py PAGE VERSION. The form is that of Keep a Changelog: what is not released yet comes first, then versions, the newest first,
each with its date; below each only the known kinds of change, in their order and none empty. VERSION has an entry: a section of its own,
or, while it is not released, the words of the first section. Then spoils the page in every way that is to be noticed.
"""

import pathlib
import re
import sys

KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+) - (\d{4}-\d{2}-\d{2})$")


def sections(text):
    """(heading, body) of each section."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def mistakes_in(text, version):
    if not text.startswith("# Changelog\n"):
        yield "the page does not begin with \"# Changelog\""
    found = sections(text)
    released = []
    for number, (heading, body) in enumerate(found):
        release = RELEASE.match(heading)
        if release:
            released.append((tuple(map(int, release.groups()[:3])), release[4]))
        elif number > 0 or heading != "Unreleased":
            yield f"\"## {heading}\": expected \"## Unreleased\" at the top, or \"## 1.2.3 - 2026-01-31\""
        kinds = re.split(r"^### (.*)$", body, flags=re.MULTILINE)
        named = kinds[1::2]
        if not named:
            yield f"\"## {heading}\" says nothing"
        if named != [kind for kind in KINDS if kind in named]:
            yield f"\"## {heading}\": expected each of {', '.join(KINDS)} once at most, in this order, not {', '.join(named)}"
        for kind, entries in zip(named, kinds[2::2]):
            if not re.search(r"^- \S", entries, flags=re.MULTILINE):
                yield f"\"### {kind}\" of \"## {heading}\" has no entry"
    if released != sorted(released, reverse=True) or len({number for number, _ in released}) != len(released):
        yield "the newest version does not come first, or one is there twice"
    now = tuple(map(int, version.split(".")))
    if now not in [number for number, _ in released]:
        if released and now < released[0][0]:
            yield f"{version} is older than {'.'.join(map(str, released[0][0]))}, which is released"
        introduction = found[0][1].split("\n### ")[0] if found and found[0][0] == "Unreleased" else ""
        if version not in introduction:
            yield f"there is no entry for {version}: expected \"## {version} - DATE\", or the version named below \"## Unreleased\""


def spoilt(text, version):
    """(what is wrong, page) of every mistake that is to be noticed."""
    unreleased = text.index("## Unreleased")
    old = "## 0.0.1 - 2026-01-31\n\n### Added\n\n- It.\n"
    yield "a version without an entry", text.replace(version, "9.9.9")
    yield "a version that is older than the last", text + "\n" + old.replace("0.0.1", "9.0.0")
    yield "a release without a date", text + "\n" + old.replace(" - 2026-01-31", "")
    yield "versions in a wrong order", text + "\n" + old + "\n" + old.replace("0.0.1", "0.0.2")
    yield "a version twice", text + "\n" + old + "\n" + old
    yield "a kind that there is not", text + "\n" + old.replace("Added", "Improved")
    yield "kinds in a wrong order", text + "\n" + old.replace("### Added", "### Fixed\n\n- That.\n\n### Added")
    yield "a kind without an entry", text + "\n" + old.replace("- It.\n", "")
    yield "a version without a change", text + "\n## 0.0.1 - 2026-01-31\n"
    yield "another beginning", text[:unreleased].replace("# Changelog", "# News") + text[unreleased:]


def main(page, version):
    text = pathlib.Path(page).read_text()
    problems = [f"CHANGELOG.md: {mistake}" for mistake in mistakes_in(text, version)]
    if not problems:
        problems = [f"nobody notices {what}" for what, wrong in spoilt(text, version) if not list(mistakes_in(wrong, version))]
    print("\n".join(problems) if problems else f"CHANGELOG.md tells of {version} and has its form")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
