"""Looks for many mutants at once.

A draw that goes well with all of them switched on is taken to go well with each, and one that fails is made again with each of them
alone, until it is known who is to blame. What is found is found alone; but those who are on together may hide one another, so what
is not found in company may still be found by a search of its own.
"""
from concurrent.futures import ThreadPoolExecutor

STEP = 50  # draws between two notes


def companies(survivors, size, reach):
    """Those whose places few draws come to are among themselves, so that few draws are made for them."""
    rare, common = [], []
    for mutant in survivors:
        (rare if mutant.file.endswith(".cpp") and 4 * reach.number(mutant) < reach.known["draws"] else common).append(mutant)
    return apart(sorted(rare, key=reach.number), size) + apart(common, size)


def apart(mutants, size):
    """Neighbours are often in the same file, and hide one another the most: they go into different companies."""
    number = -(-len(mutants) // size)
    return [mutants[first::number] for first in range(number)]


def done_by(note):
    return max(note.get("together", 0), note["draws"])


def search_together(program, mutants, notes, seeds, reach, said):
    """Up to `seeds` draws with all that are not found yet. `said` is told what has been found."""
    left = {mutant.name: mutant for mutant in mutants}
    done = min(done_by(notes.known[name]) for name in left)
    while left and done < seeds:
        first, count = done + 1, min(STEP, seeds - done)
        asked = len(left)
        for draw in failing_draws(program, left, first, count, reach):
            if not left:
                break
            if len(left) < asked and not program.failures(list(left), draw, 1):
                continue
            for name, by in to_blame(program, left, draw, reach):
                notes.known[name]["found"] = {"draw": draw, "by": by}
                said(left.pop(name))
        done += count
        for name in left:
            notes.known[name]["together"] = done
        notes.save()


def failing_draws(program, left, first, count, reach):
    """Among the draws that come to the place of any of them."""
    draws = {draw for mutant in left.values() for begin, number in reach.spans(mutant, first, count)
             for draw in range(begin, begin + number)}
    if 2 * len(draws) > count:
        return [draw for draw in program.failures(list(left), first, count) if draw not in reach.failing]
    with ThreadPoolExecutor(int(program.jobs)) as pool:
        return [draw for found in pool.map(lambda draw: program.failures(list(left), draw, 1), sorted(draws)) for draw in found]


def to_blame(program, left, draw, reach):
    """[(name, invariant)] of those with which alone this draw fails."""
    able = [name for name, mutant in left.items() if reach.spans(mutant, draw, 1)]
    with ThreadPoolExecutor(int(program.jobs)) as pool:
        found = list(pool.map(lambda name: program.explore(name, draw, 1), able))
    return [(name, one[1]) for name, one in zip(able, found) if one]
