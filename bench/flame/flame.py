"""Draws what `perf script` prints as a flame graph, and adds up what the time was spent on.

perf script --no-inline | flame.py --svg FILE [--title TEXT] [--below NAME]

The SVG needs nothing else: a box is a function, as wide as the samples that it was in, on its caller; pointing at one tells its name and
share. Its colour is what the samples in it were spent on, most of all: a library, or the folder of this repository whose class it
belongs to. The table of these goes to the standard output, in Markdown. What std:: and the C library spend is their caller's.

--below NAME leaves out samples without a function of that name, and what called it. Exits with 0, 1 when there are no samples, 2 for
wrong use.
"""

import argparse
import collections
import html
import pathlib
import re
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "fakes", "sim", "prod", "reports")

# By shared object, or by the beginning of a function's name.
LIBRARIES = (
    ("malloc", re.compile(r"libmimalloc|^(mi_|operator (new|delete)|malloc$|free$|calloc$|realloc$|cfree)")),
    ("Lua", re.compile(r"liblua|^luaL?_")),
    ("protobuf", re.compile(r"libprotobuf|^(google::protobuf|cordum::)")),
    ("JSON", re.compile(r"^nlohmann::")),
    ("hashes", re.compile(r"libcrypto|libxxhash|^(XXH|EVP_)")),
    ("gRPC", re.compile(r"libgrpc|libgpr|libabsl|^grpc")),
    ("NATS client", re.compile(r"libnats")),
    ("Redis client", re.compile(r"libhiredis")),
    ("libuv", re.compile(r"libuv")),
    ("logs", re.compile(r"libspdlog|libfmt|^(spdlog|fmt)::")),
    ("metrics", re.compile(r"libprometheus|^prometheus::")),
    ("Linux", re.compile(r"\[kernel|\[vdso")),
)

WIDTH, ROW, TOP, MARGIN = 1200, 16, 40, 8
CHARACTER = 6.6  # pixels of one, roughly
NARROWEST = 0.003  # of the whole; what is narrower is not drawn
COLOURS = ("#e8744f", "#e9a23b", "#d9c84b", "#8fc15b", "#4fb58a", "#4fa9c9", "#6f8fe0", "#a27fd6", "#d375b8", "#b08d6a", "#8aa39b", "#c9806c")

FRAME = re.compile(r"^\s+[0-9a-f]+ (.*) \(([^()]*(?:\([^()]*\))?)\)$")

Frame = collections.namedtuple("Frame", "name library")


def without_brackets(name):
    """Without template arguments and parameters; operators stay what they are."""
    operators = re.findall(r"operator(<=>|<<=?|>>=?|<=|>=|->\*?|\(\)|<(?!\w)|>)", name)
    for written in operators:
        name = name.replace(f"operator{written}", "operator\0", 1)
    name = name.replace("(anonymous namespace)::", "").replace("{lambda(", "lambda(")
    out, depth = [], 0
    for letter in name:
        if letter in "<(":
            depth += 1
        elif letter in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            out.append(letter)
    name = "".join(out)
    for written in operators:
        name = name.replace("\0", written, 1)
    return name


def frame_of(symbol, library):
    library = pathlib.PurePath(library).name.split(".so")[0] if library.startswith("/") else library
    symbol = re.sub(r"\+0x[0-9a-f]+$", "", symbol)
    if symbol == "[unknown]":
        return Frame(f"[{library.strip('[]')}]", library)
    return Frame(without_brackets(symbol.replace("[abi:cxx11]", "")).strip(), library)


def samples(lines):
    """The stack of each sample, its outermost function first. What only perf's own end of a stack is, is left out."""
    stack = []
    for line in lines:
        if not line.strip():
            if stack:
                yield tuple(reversed(stack))
            stack = []
            continue
        found = FRAME.match(line.rstrip("\n"))
        if not found:
            continue  # the line that begins a sample
        frame = frame_of(found[1], found[2])
        if frame.library == "[unknown]" or (stack and stack[-1] == frame):
            continue
        stack.append(frame)
    if stack:
        yield tuple(reversed(stack))


def below(stack, name):
    """The stack from the function on; nothing where it is not."""
    for place, frame in enumerate(stack):
        if frame.name == name or frame.name.endswith("::" + name):
            return stack[place:]
    return ()


def folders_of_classes(root):
    """{name of a class: the folder whose header declares it}, where only one does."""
    found = collections.defaultdict(set)
    for top in FOLDERS:
        for header in sorted((root / top).rglob("*.h")):
            for name in re.findall(r"^(?:class|struct) (\w+)(?: final)? *[:{]", header.read_text(), re.MULTILINE):
                found[name].add(str(header.parent.relative_to(root)))
    return {name: folders.pop() for name, folders in found.items() if len(folders) == 1}


def group_of(stack, folders):
    """What the innermost function of the stack works for."""
    namespace = None
    for frame in reversed(stack):
        for group, pattern in LIBRARIES:
            if namespace is None and (pattern.search(frame.name) or pattern.search(frame.library)):
                return group
        words = frame.name.split("::")
        if words[0] != "lockstep":
            continue
        # A function of no class is its namespace's, unless what called it there has a class.
        if namespace is not None and words[1] != namespace[0]:
            break
        for word in words[1:]:
            if word in folders and folders[word].startswith(words[1]):
                return folders[word]
        namespace = namespace or [word for word in words[1:-1] if word.islower()]
    if namespace:
        return "/".join(namespace[:2])
    return "other"


class Node:
    def __init__(self, name):
        self.name = name
        self.count = 0
        self.groups = collections.Counter()
        self.callees = {}


def tree_of(stacks, folders):
    root = Node("all")
    for stack in stacks:
        group = group_of(stack, folders)
        node = root
        node.count += 1
        node.groups[group] += 1
        for frame in stack:
            node = node.callees.setdefault(frame.name, Node(frame.name))
            node.count += 1
            node.groups[group] += 1
    return root


def colour_of(group, groups):
    place = groups.index(group)
    return COLOURS[place] if place < len(COLOURS) else COLOURS[zlib.crc32(group.encode()) % len(COLOURS)]


def boxes(node, left, level, whole, out):
    for callee in sorted(node.callees.values(), key=lambda each: each.name):
        if callee.count / whole >= NARROWEST:
            out.append((callee, left, level))
            boxes(callee, left, level + 1, whole, out)
        left += callee.count


def label(name, width):
    room = int((width - 4) / CHARACTER)
    text = name.removeprefix("lockstep::")
    if room < 3:
        return ""
    return text if len(text) <= room else text[:room - 1] + "…"


def svg(root, title):
    drawn = []
    boxes(root, 0, 0, root.count, drawn)
    groups = [group for group, _ in root.groups.most_common()]
    levels = 1 + max((level for _, _, level in drawn), default=0)
    shown = groups[:len(COLOURS)]
    columns = 4
    legend = ROW * ((len(shown) + columns - 1) // columns)
    height = TOP + levels * ROW + legend + 3 * MARGIN
    unit = (WIDTH - 2 * MARGIN) / root.count
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           f'<text x="{MARGIN}" y="24" font-size="15">{html.escape(title)}</text>']
    for node, left, level in drawn:
        x, width = MARGIN + left * unit, node.count * unit
        y = TOP + (levels - 1 - level) * ROW
        share = 100 * node.count / root.count
        text = label(node.name, width)
        out.append(f'<g><title>{html.escape(node.name)}: {share:.1f} %</title>'
                   f'<rect x="{x:.1f}" y="{y}" width="{width - 0.4:.1f}" height="{ROW - 1}" rx="1" fill="{colour_of(node.groups.most_common(1)[0][0], groups)}"/>'
                   + (f'<text x="{x + 2:.1f}" y="{y + 11}">{html.escape(text)}</text>' if text else "") + "</g>")
    for place, group in enumerate(shown):
        x = MARGIN + (place % columns) * (WIDTH - 2 * MARGIN) / columns
        y = TOP + levels * ROW + 2 * MARGIN + (place // columns) * ROW
        out.append(f'<rect x="{x:.0f}" y="{y}" width="11" height="11" fill="{colour_of(group, groups)}"/>'
                   f'<text x="{x + 16:.0f}" y="{y + 10}">{html.escape(group)}, {100 * root.groups[group] / root.count:.1f} %</text>')
    return "\n".join(out) + "\n</svg>\n"


def table(root):
    rows = ["| spent on | % |", "| --- | --: |"]
    small = 0
    for group, count in root.groups.most_common():
        if count / root.count < 0.01:
            small += count
        else:
            rows.append(f"| {group} | {100 * count / root.count:.1f} |")
    if small:
        rows.append(f"| what is less than 1 each | {100 * small / root.count:.1f} |")
    return "\n".join(rows) + "\n"


def main(words, lines):
    parser = argparse.ArgumentParser(prog="flame.py", description="Draws what `perf script --no-inline` prints as a flame graph.")
    parser.add_argument("--svg", type=pathlib.Path, required=True, help="the file to draw into")
    parser.add_argument("--title", default="", help="what stands above it")
    parser.add_argument("--below", default="", help="a function: samples without it do not count, nor what called it")
    arguments = parser.parse_args(words)
    stacks = list(samples(lines))
    if arguments.below:
        stacks = [rest for rest in (below(stack, arguments.below) for stack in stacks) if rest]
    if not stacks:
        of = f" of {arguments.below}" if arguments.below else ""
        print(f"flame.py: there are no samples{of} in what `perf script --no-inline` has printed", file=sys.stderr)
        return 1
    root = tree_of(stacks, folders_of_classes(ROOT))
    arguments.svg.write_text(svg(root, arguments.title or f"{root.count} samples"))
    print(table(root), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
