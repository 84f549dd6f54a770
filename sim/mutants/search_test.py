import pathlib
import tempfile
import unittest
from types import SimpleNamespace

import apply
import search
import together


def mutant(name, **fields):
    return apply.Mutant(name, {"file": "engine/a.cpp", "class": "c", "what": "w", **fields}, "a", "$MUTANT")


class FakeProgram:
    """Finds what it is told to find at the draw that it is told."""

    def __init__(self, fails_happy="", fails_at=None, scenarios=()):
        self.fails_happy, self.fails_at, self.failing = fails_happy, fails_at, list(scenarios)
        self.explored = []

    def happy(self, _):
        return self.fails_happy

    def explore(self, _, first, count, data_loss=""):
        self.explored.append((first, count, data_loss) if data_loss else (first, count))
        return (self.fails_at, "lock_exclusion") if self.fails_at and first <= self.fails_at < first + count else None

    def scenarios(self, *_):
        return self.failing


class FakeCompany:
    """Fails at a draw when one that fails there is on, or when the draw fails anyway."""

    jobs = "2"

    def __init__(self, fails_at, failing_anyway):
        self.fails_at, self.failing_anyway = fails_at, failing_anyway

    def failures(self, names, first, count):
        failing = set(self.failing_anyway).union(*(self.fails_at[name] for name in names))
        return sorted(draw for draw in failing if first <= draw < first + count)

    def explore(self, name, draw, _, data_loss=""):
        return (draw, "lock_exclusion") if draw in self.fails_at[name] else None


class EveryDraw:
    def __init__(self, failing=()):
        self.failing = failing

    def spans(self, _, first, count):
        return [(first, count)]


def searched(program, seeds=1000):
    note = {"draws": 0}
    search.search(program, mutant("m"), note, SimpleNamespace(seeds=seeds, together=False), lambda: None, EveryDraw())
    search.search_scenarios(program, mutant("m"), note, [])
    return note


def kind_of(program):
    return search.verdict(mutant("m"), searched(program))[0]


class Search(unittest.TestCase):
    def test_who_finds_it_decides_how_it_counts(self):
        self.assertEqual(kind_of(FakeProgram(fails_happy="it fails")), "crude")
        self.assertEqual(kind_of(FakeProgram(fails_at=20)), "at once")
        self.assertEqual(kind_of(FakeProgram(fails_at=21)), "found")
        self.assertEqual(kind_of(FakeProgram(scenarios=["scenarios/a.json"])), "scenario")
        self.assertEqual(kind_of(FakeProgram()), "survived")
        self.assertEqual(search.verdict(mutant("m", equivalent="because"), None), ("equivalent", "because"))

    def test_one_that_only_a_loss_of_data_shows_is_searched_for_alone_among_draws_with_it(self):
        program, note = FakeProgram(fails_at=30), {"draws": 0}
        reach = search.Reach.__new__(search.Reach)
        reach.known = {"program": "p", "draws": 1000, "by": {}, "failing": [30]}
        search.search(program, mutant("m", **{"data-loss": "redis"}), note, SimpleNamespace(seeds=1000, together=10), lambda: None, reach)
        self.assertEqual(program.explored, [(1, 20, "redis"), (21, 100, "redis")])
        self.assertEqual(note["found"], {"draw": 30, "by": "lock_exclusion"})

    def test_what_a_table_says_is_asked_about_and_not_believed(self):
        def remembered(row, **note):
            note = {"draws": 0, **note}
            search.remember(note, row)
            return {name: note[name] for name in ("found", "happy") if name in note}

        self.assertEqual(remembered(("found", "lock_exclusion, draw 150")), {"found": {"draw": 150, "by": "lock_exclusion"}})
        self.assertEqual(remembered(("at once", "a, draw 2")), {"found": {"draw": 2, "by": "a"}})
        self.assertEqual(remembered(("crude", "FAILED")), {"happy": "FAILED"})
        self.assertEqual(remembered(("survived", "1000 draws")), {})
        self.assertEqual(remembered(None), {})
        self.assertEqual(remembered(("found", "a, draw 2"), program="this"), {}, "it has been searched for here")

        note = {"draws": 0}
        search.remember(note, ("found", "lock_exclusion, draw 150"))
        program = FakeProgram()
        search.confirm(program, mutant("m"), note, SimpleNamespace(identity="this", failing=[]))
        self.assertEqual(program.explored, [(150, 1)])
        self.assertEqual(note, {"draws": 0, "program": "this"})

    def test_nothing_is_looked_for_any_more_once_it_is_found(self):
        program = FakeProgram(fails_at=150)
        self.assertNotIn("scenarios", searched(program))
        self.assertEqual(program.explored, [(1, 20), (21, 100), (121, 100)])

    def test_no_draw_is_made_twice_when_a_search_goes_on(self):
        program, note = FakeProgram(), {"draws": 0}
        for seeds in (60, 90):
            search.search(program, mutant("m"), note, SimpleNamespace(seeds=seeds, together=False), lambda: None, EveryDraw())
        self.assertEqual(program.explored, [(1, 20), (21, 40), (61, 30)])

    def test_what_another_program_found_is_found_where_the_draw_says_so_again(self):
        reach = SimpleNamespace(identity="new", failing=[7])
        for program, draw, left in ((FakeProgram(fails_at=150), 150, {"draw": 150, "by": "lock_exclusion"}),
                                    (FakeProgram(fails_at=151), 150, None), (FakeProgram(fails_at=7), 7, None)):
            note = {"draws": 120, "together": 300, "happy": "", "found": {"draw": draw, "by": "another"}, "program": "old"}
            search.confirm(program, mutant("m"), note, reach)
            self.assertEqual(note.get("found"), left)
            self.assertEqual(note["draws"], draw if left else 0)
            self.assertNotIn("together", note)
        note = {"draws": 1000, "program": "new"}
        search.confirm(FakeProgram(), mutant("m"), note, reach)
        self.assertEqual(note["draws"], 1000)

    def test_what_failed_the_happy_path_has_to_do_so_again(self):
        reach = SimpleNamespace(identity="new", failing=[])
        for fails in ("it fails", ""):
            note = {"draws": 0, "happy": "it failed"}
            search.confirm(FakeProgram(fails_happy=fails), mutant("m"), note, reach)
            self.assertEqual(note.get("happy", ""), fails)

    def test_a_draw_that_does_not_come_to_the_place_is_not_made(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text("")
            reach = search.Reach(SimpleNamespace(path=program, jobs="1", reached=lambda draw: (["m"] * (draw in (3, 4, 9, 30)), draw == 12)),
                                 pathlib.Path(folder) / "reached.json")
            reach.learn(30)
        self.assertEqual(reach.spans(mutant("m"), 1, 20), [(3, 2), (9, 1)])
        self.assertEqual(reach.spans(mutant("m"), 21, 10), [(30, 1)])
        self.assertEqual(reach.spans(mutant("other"), 1, 20), [])
        self.assertEqual(reach.spans(mutant("script", file="engine/a.lua"), 1, 20), [(1, 11), (13, 8)])  # 12 fails anyway
        self.assertEqual(reach.number(mutant("m")), 4)

    def test_of_a_company_those_are_found_who_are_to_blame_alone(self):
        program = FakeCompany({"a": {5, 7}, "b": {7, 60}, "c": set()}, failing_anyway={3})
        notes = SimpleNamespace(known={name: {"draws": 0} for name in "abc"}, save=lambda: None)
        told = []
        together.search_together(program, [mutant(name) for name in "abc"], notes, 70, EveryDraw(failing={3}), told.append)
        self.assertEqual(notes.known["a"]["found"], {"draw": 5, "by": "lock_exclusion"})
        self.assertEqual(notes.known["b"]["found"], {"draw": 7, "by": "lock_exclusion"})
        self.assertEqual(notes.known["c"], {"draws": 0, "together": 70})
        self.assertEqual([one.name for one in told], ["a", "b"])

    def test_neighbours_are_in_different_companies_and_the_rare_among_themselves(self):
        common = [mutant(f"m{number:02}") for number in range(20)]
        rare = [mutant("r0"), mutant("r1")]
        reach = SimpleNamespace(number=lambda one: 3 if one in rare else 50, known={"draws": 100})
        made = [[one.name for one in company] for company in together.companies(common + rare, 8, reach)]
        self.assertEqual(made[0], ["r0", "r1"])
        self.assertEqual(made[1], ["m00", "m03", "m06", "m09", "m12", "m15", "m18"])
        self.assertEqual(sorted(name for company in made for name in company),
                         sorted(one.name for one in common + rare))

    def test_a_company_makes_the_draws_that_come_to_one_of_its_places(self):
        program = FakeCompany({"a": {5, 7}}, failing_anyway={3})
        reach = SimpleNamespace(failing=[3], spans=lambda *_: [(4, 2), (9, 1)])
        self.assertEqual(together.failing_draws(program, {"a": mutant("a")}, 1, 50, reach), [5])
        self.assertEqual(together.failing_draws(program, {"a": mutant("a")}, 1, 5, reach), [5])

    def test_a_search_for_one_leaves_the_rows_of_the_others(self):
        mutants = [mutant("a"), mutant("b", what="x | y")]
        known = {name: {"draws": 1, "happy": "", "found": {"draw": draw, "by": "no | body"}} for name, draw in (("a", 3), ("b", 30))}
        whole = search.table(mutants, SimpleNamespace(known=known), {})
        again = search.table(mutants, SimpleNamespace(known={"a": known["a"]}), search.rows_of(whole))
        self.assertEqual(again, whole)
        self.assertNotIn("draw 30", search.table(mutants, SimpleNamespace(known={"a": known["a"]}), {}))

    def test_shares_are_of_those_that_count(self):
        judged = [(None, (kind, "")) for kind in ["found", "survived", "equivalent", "not searched"]]
        self.assertIn("| **exploration or the happy path** | 1 of 2 | 50.0 % |", search.totals("Totals", judged))


if __name__ == "__main__":
    unittest.main()
