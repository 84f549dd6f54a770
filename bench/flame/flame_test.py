import contextlib
import io
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import flame

SVG = "{http://www.w3.org/2000/svg}"


def sample(*frames, library="/bin/lockstepd"):
    """As perf prints it: the innermost function first. A frame is a symbol, or a symbol and a library."""
    lines = ["lockstepd 1 2.000000:    2004008 cpu-clock: "]
    for frame in frames:
        symbol, its = frame if isinstance(frame, tuple) else (frame, library)
        lines.append(f"\t          1b11be {symbol}+0x4e ({its})")
    return [line + "\n" for line in lines] + ["\n"]


MAIN = ("lockstep::prod::Daemon::run", "main", ("__libc_start_main@@GLIBC_2.34", "/usr/lib/libc.so.6"))
FOLDERS = {"Daemon": "prod/daemon", "SimTrace": "sim/world", "RoutingRules": "sim/oracles", "Keyspace": "fakes/redis"}


class Flame(unittest.TestCase):
    def stacks(self, *texts):
        return list(flame.samples(line for text in texts for line in text))

    def names(self, *frames):
        return [frame.name for frame in self.stacks(sample(*frames))[0]]

    def group(self, *frames):
        return flame.group_of(self.stacks(sample(*frames, *MAIN))[0], FOLDERS)

    def test_a_stack_begins_with_its_outermost_function(self):
        self.assertEqual(self.names("f", "main"), ["main", "f"])
        self.assertEqual(len(self.stacks(sample("f"), sample("g"), sample("f", "main"))), 3)

    def test_names_are_without_templates_arguments_and_offsets(self):
        self.assertEqual(self.names("lockstep::sim::(anonymous namespace)::Run::execute[abi:cxx11]"), ["lockstep::sim::Run::execute"])
        self.assertEqual(self.names("std::map<std::string, std::vector<int> >::try_emplace<long const&>(int, f<g>)"), ["std::map::try_emplace"])
        self.assertEqual(self.names("std::function<void (int)>::operator()(int) const"), ["std::function::operator() const"])
        self.assertEqual(self.names("std::operator<< <char>(std::ostream&)", "a<b>::operator<=>"), ["a::operator<=>", "std::operator<<"])

    def test_what_has_no_name_is_its_library_once(self):
        lua = ("[unknown]", "/usr/lib/x86_64-linux-gnu/liblua5.1-c++.so.0.0.0")
        self.assertEqual(self.names(lua, lua, "main"), ["main", "[liblua5.1-c++]"])

    def test_the_end_that_perf_could_not_find_is_left_out(self):
        self.assertEqual(self.names("f", ("[unknown]", "[unknown]")), ["f"])

    def test_time_is_spent_on_the_library_or_the_folder_of_the_class(self):
        self.assertEqual(self.group("lockstep::sim::SimTrace::emit"), "sim/world")
        self.assertEqual(self.group(("[unknown]", "/usr/lib/liblua5.1-c++.so.0")), "Lua")
        self.assertEqual(self.group(("_copy_to_iter", "[kernel.kallsyms]"), "lockstep::sim::SimTrace::emit"), "Linux")
        self.assertEqual(self.group(("mi_malloc", "/usr/lib/libmimalloc.so.2.0"), "lockstep::sim::SimTrace::emit"), "malloc")
        self.assertEqual(self.group("operator new", "google::protobuf::Arena::Make"), "malloc")

    def test_time_of_the_standard_library_is_its_callers(self):
        comparison = ("__memcmp_evex_movbe", "/usr/lib/x86_64-linux-gnu/libc.so.6")
        self.assertEqual(self.group(comparison, "std::map<int, int>::find", "lockstep::sim::RoutingRules::at"), "sim/oracles")
        self.assertEqual(self.group(comparison, "google::protobuf::Message::Parse"), "protobuf")

    def test_a_function_of_no_class_is_its_callers_within_the_same_part_else_its_namespaces(self):
        self.assertEqual(self.group("lockstep::sim::score_of", "lockstep::sim::RoutingRules::at"), "sim/oracles")
        self.assertEqual(self.group("lockstep::fakes::redis::handlers::set", "lockstep::sim::RoutingRules::at"), "fakes/redis")
        self.assertEqual(self.group("main"), "prod/daemon")

    def test_below_leaves_out_callers_and_other_samples(self):
        of_both = self.stacks(sample("f", "lockstep::sim::run_scenario", "main"), sample("g", "main"))
        self.assertEqual([frame.name for frame in flame.below(of_both[0], "sim::run_scenario")], ["lockstep::sim::run_scenario", "f"])
        self.assertEqual(flame.below(of_both[1], "sim::run_scenario"), ())

    def test_classes_that_two_folders_declare_are_nobodys(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("engine/a/a.h", "class A final : public B {\n"), ("sim/b/b.h", "struct Twice {\n"), ("sim/c/c.h", "class Twice {\nclass Told;\n")):
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True)
                path.write_text(text)
            self.assertEqual(flame.folders_of_classes(pathlib.Path(folder)), {"A": "engine/a"})

    def test_the_drawing_stands_alone_and_is_as_wide_as_the_samples(self):
        stacks = self.stacks(*[sample("f<a>", "main")] * 3, sample("operator<<", "main"), *[sample("lockstep::sim::SimTrace::emit")] * 4)
        drawing = xml.etree.ElementTree.fromstring(flame.svg(flame.tree_of(stacks, FOLDERS), "a & b"))
        boxes = {group.find(f"{SVG}title").text: group.find(f"{SVG}rect") for group in drawing.iter(f"{SVG}g")}
        self.assertEqual(set(boxes), {"main: 50.0 %", "f: 37.5 %", "operator<<: 12.5 %", "lockstep::sim::SimTrace::emit: 50.0 %"})
        width = {name: float(box.get("width")) + 0.4 for name, box in boxes.items()}
        self.assertAlmostEqual(width["f: 37.5 %"] / width["main: 50.0 %"], 0.75, 2)
        self.assertLess(int(boxes["f: 37.5 %"].get("y")), int(boxes["main: 50.0 %"].get("y")), "callees stand on their callers")
        self.assertIn("a & b", [text.text for text in drawing.iter(f"{SVG}text")])

    def test_the_table_adds_up(self):
        root = flame.tree_of(self.stacks(*[sample("lockstep::sim::SimTrace::emit")] * 199, sample("strange")), FOLDERS)
        self.assertEqual(flame.table(root), "| spent on | % |\n| --- | --: |\n| sim/world | 99.5 |\n| what is less than 1 each | 0.5 |\n")

    def test_no_samples_is_a_failure_that_names_what_was_looked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            svg = pathlib.Path(folder, "x.svg")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                code = flame.main(["--svg", str(svg), "--below", "nowhere"], sample("f", "main"))
            self.assertEqual((code, svg.exists()), (1, False))
            self.assertIn("no samples of nowhere", said.getvalue())

    def test_the_drawings_of_the_repository_are_small_and_sound(self):
        for drawing in flame.ROOT.glob("bench/flame/*.svg"):
            self.assertLess(drawing.stat().st_size, 300_000)
            xml.etree.ElementTree.parse(drawing)


if __name__ == "__main__":
    unittest.main()
