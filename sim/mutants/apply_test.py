import pathlib
import tempfile
import unittest

import apply

PATCH = "class: dropped check\nwhat: nobody looks\nfile: engine/a.cpp\n--- original\nif (x)\n--- mutated\nif (x && !$MUTANT)\n"
SOURCE = "int f() {\n    if (x) return 1;\n    return 0;\n}\n"


class Apply(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "engine").mkdir()
        (self.root / "patches").mkdir()

    def source(self, text, name="a.cpp"):
        (self.root / "engine" / name).write_text(text)

    def patch(self, name, text=PATCH):
        (self.root / "patches" / f"{name}.mutant").write_text(text)

    def fit(self):
        return apply.fit(apply.mutants(self.root / "patches"), self.root)

    def mistake(self):
        with self.assertRaises(apply.Mistake) as raised:
            self.fit()
        return str(raised.exception)

    def test_a_patch_that_fits_takes_the_place_of_its_original(self):
        self.source(SOURCE)
        self.patch("no-look")
        (begin, end, mutant), = self.fit()["engine/a.cpp"]
        self.assertEqual(SOURCE[begin:end], "if (x)")
        text = apply.mutated_source("engine/a.cpp", SOURCE, [(begin, end, mutant)])
        self.assertIn(f"if (x && !::lockstep::mutants::is_on({mutant.number})) return 1;", text)

    def test_a_text_that_is_gone_is_told_of_with_patch_file_and_way_out(self):
        self.source(SOURCE.replace("if (x)", "if (y)"))
        self.patch("no-look")
        for word in ("no-look", "engine/a.cpp", "0 times", "write it anew"):
            self.assertIn(word, self.mistake())

    def test_a_text_that_occurs_twice_does_not_fit(self):
        self.source(SOURCE + SOURCE)
        self.patch("no-look")
        self.assertIn("2 times", self.mistake())

    def test_a_file_that_is_gone_is_told_of(self):
        self.patch("no-look")
        self.assertIn("there is no engine/a.cpp", self.mistake())

    def test_a_statement_does_not_fit_where_an_expression_goes_on(self):
        self.source(SOURCE.replace("return 0;", "return news.told(0);"))
        self.patch("no-news", PATCH.replace("if (x)\n--- mutated\nif (x && !$MUTANT)", "told(0);\n--- mutated\nif (!$MUTANT) told(0);"))
        self.assertIn("take in the whole statement", self.mistake())

    def test_patches_that_overlap_do_not_fit(self):
        self.source(SOURCE)
        self.patch("no-look")
        self.patch("other", PATCH.replace("--- original\nif (x)", "--- original\n(x) return"))
        self.assertIn("overlaps", self.mistake())

    def test_a_patch_that_cannot_be_switched_off_is_none(self):
        self.source(SOURCE)
        self.patch("always", PATCH.replace("$MUTANT", "true"))
        self.assertIn("switched off", self.mistake())

    def test_an_unknown_field_is_told_of(self):
        self.patch("no-look", "clas: x\n" + PATCH)
        self.assertIn("'clas: x' is no field", self.mistake())

    def test_a_script_holds_the_original_text_beside_the_mutated_one(self):
        script = "if a then\n  return 1\nend\n"
        self.source(script, "s.lua")
        self.patch("no-look", PATCH.replace("a.cpp", "s.lua").replace("if (x)", "if a").replace("(x && !$MUTANT)", "a or $MUTANT"))
        spans = self.fit()["engine/s.lua"]
        header = apply.mutated_script("engine/s.lua", script, spans)
        self.assertIn(f'{{{spans[0][2].number}, R"embedded(if a)embedded", R"embedded(if a or true)embedded"}}', header)
        self.assertIn("string_view kS =", header)


if __name__ == "__main__":
    unittest.main()
