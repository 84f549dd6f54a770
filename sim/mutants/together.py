"""Looks for many mutants at once.

A draw that goes well with all of them switched on is taken to go well with each, and one that fails is made again with each of them
alone, until it is known who is to blame. What is found is found alone; but those who are on together may hide one another, so what
is not found in company may still be found by a search of its own.
"""
from concurrent.futures import ThreadPoolExecutor

COMPANY = 8  # at most; with many more nearly every draw would fail
STEP = 50  # draws between two notes


def companies(survivors):
    """Neighbours by name are often in the same file, and hide one another the most: they go into different ones."""
    number = -(-len(survivors) // COMPANY)
    return [survivors[first::number] for first in range(number)]


def search_together(program, mutants, notes, seeds, reach, said):
    """Up to `seeds` draws with all that are not found yet. `said` is told what has been found."""
    left = {mutant.name: mutant for mutant in mutants}
    done = min(notes.known[name].get("together", notes.known[name]["draws"]) for name in left)
    while left and done < seeds:
        first, count = done + 1, min(STEP, seeds - done)
        asked = len(left)
        for draw in program.failures(list(left), first, count):
            if not left:
                break
            if draw in reach.failing or (len(left) < asked and not program.failures(list(left), draw, 1)):
                continue
            for name, by in to_blame(program, left, draw, reach):
                notes.known[name]["found"] = {"draw": draw, "by": by}
                said(left.pop(name))
        done += count
        for name in left:
            notes.known[name]["together"] = done
        notes.save()


def to_blame(program, left, draw, reach):
    """[(name, invariant)] of those with which alone this draw fails."""
    able = [name for name, mutant in left.items() if reach.spans(mutant, draw, 1)]
    with ThreadPoolExecutor(int(program.jobs)) as pool:
        found = list(pool.map(lambda name: program.explore(name, draw, 1), able))
    return [(name, one[1]) for name, one in zip(able, found) if one]
