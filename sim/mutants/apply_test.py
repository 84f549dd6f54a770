import pathlib
import re
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
        self.assertIn("string_view kS =\n    ::lockstep::mutants::script({", header)  # which registers them before main

    def test_a_source_registers_its_mutants_by_an_object_whose_name_no_other_source_has(self):
        patches = {"a-one": "if (x)", "a-two": "return 0"}
        for name, original in patches.items():
            self.patch(name, f"class: c\nwhat: w\nfile: engine/a.cpp\n--- original\n{original}\n--- mutated\n{original} $MUTANT\n")
        self.source(SOURCE)
        spans = self.fit()["engine/a.cpp"]
        numbers = f"{{{spans[0][2].number}, {spans[1][2].number}}}"
        text = apply.mutated_source("engine/a.cpp", SOURCE, spans)
        self.assertIn(f"Registration kMutantsOf_engine_a_cpp({numbers});\n#line 1 \"engine/a.cpp\"\n", text)
        self.assertNotIn("Registration", apply.mutated_source("engine/b.cpp", SOURCE, []))

    def test_the_copy_of_each_file_registers_all_its_mutants(self):
        root = apply.HERE.parent.parent
        places = apply.fit(apply.mutants(), root)
        for file, spans in places.items():
            text = (root / file).read_text(encoding="utf-8")
            if file.endswith(".cpp"):
                numbers = re.search(r"Registration \w+\(\{(.*)\}\);", apply.mutated_source(file, text, spans))[1].split(", ")
            else:
                numbers = re.findall(r"^    \{([1-9]\d*),", apply.mutated_script(file, text, spans), re.MULTILINE)
            self.assertEqual(set(numbers), {str(mutant.number) for _, _, mutant in spans}, file)

    def test_a_mutant_in_a_file_that_is_not_compiled_is_refused(self):
        self.source(SOURCE)
        self.patch("no-look")
        apply.all_compiled(self.fit(), ["engine/a.cpp", "engine/b.cpp"])
        with self.assertRaises(apply.Mistake) as raised:
            apply.all_compiled(self.fit(), ["engine/b.cpp"])
        self.assertIn("no-look: engine/a.cpp is no part of lockstep_engine", str(raised.exception))

    def test_a_mutated_script_is_included_by_sources_of_the_engine_only(self):
        self.source("if a then\n", "s.lua")
        self.patch("no-look", PATCH.replace("a.cpp", "s.lua").replace("if (x)", "if a").replace("(x && !$MUTANT)", "a or $MUTANT"))
        including = '#include "engine/s.lua.h"\n'
        self.source(including)
        self.fit()
        (self.root / "sim").mkdir()
        for file in ("engine/b.h", "sim/c.cpp"):
            (self.root / file).write_text(including)
            self.assertIn(f"{file} includes engine/s.lua.h", self.mistake())
            (self.root / file).unlink()


if __name__ == "__main__":
    unittest.main()
