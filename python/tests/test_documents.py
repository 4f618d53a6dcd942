"""The programs of the guide, and the type stubs."""

import ast
import importlib.util
import pathlib
import subprocess
import sys
import unittest

import inputs
import packline

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide/src/library-python.md"
STUBS = pathlib.Path(packline.__file__).with_name("__init__.pyi")


class Guide(unittest.TestCase):
    def test_programs_run_in_order(self):
        programs = list(blocks(GUIDE.read_text(encoding="utf-8")))
        self.assertGreater(len(programs), 8)
        with inputs.directory():
            inputs.rootfs("rootfs")
            for line, needs, program in programs:
                missing = [name for name in needs if importlib.util.find_spec(name) is None]
                if missing:
                    print(f"line {line}: skipped, needs {', '.join(missing)}", file=sys.stderr)
                    continue
                with self.subTest(line=line):
                    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
                    self.assertEqual(run.returncode, 0, run.stderr)


def blocks(page):
    """The blocks of Python, with the modules that they need."""
    lines = iter(enumerate(page.splitlines(), 1))
    for number, line in lines:
        if line == "```python" or line.startswith("```python needs: "):
            needs = line.partition("needs: ")[2].split()
            program = []
            for _, line in lines:
                if line == "```":
                    break
                program.append(line)
            yield number, needs, "\n".join(program) + "\n"


class Stubs(unittest.TestCase):
    def test_each_public_name_has_a_stub_and_each_stub_exists(self):
        module = ast.parse(STUBS.read_text(encoding="utf-8"))
        stubs = {node.name: node for node in module.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        public = {name for name in stubs if not name.startswith("_")}
        self.assertEqual(public, set(packline.__all__))
        for name in public:
            if isinstance(stubs[name], ast.ClassDef):
                bases = [stubs[base.id].body for base in stubs[name].bases if getattr(base, "id", "") in stubs]
                self.compare(getattr(packline, name), stubs[name], sum(bases, []))

    def compare(self, cls, stub, inherited):
        declared = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
        for name in declared:
            self.assertTrue(hasattr(cls, name), f"{cls.__name__}.{name}")
        foreign = {name for base in cls.__mro__ if not base.__module__.startswith("packline") for name in dir(base)}
        found = {name for name in dir(cls) if not name.startswith("_")} - foreign
        attributes = {node.target.id for node in stub.body + inherited if isinstance(node, ast.AnnAssign)}
        self.assertLessEqual(found, declared | attributes, cls.__name__)


if __name__ == "__main__":
    unittest.main()
