"""The programs of the guide, and the type stubs."""

import ast
import doctest
import importlib.util
import inspect
import io
import os
import pathlib
import subprocess
import sys
import unittest

import inputs
import packline

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide/src/library-python.md"
STUBS = pathlib.Path(packline.__file__).with_name("__init__.pyi")


class Guide(inputs.TestCase):
    def test_programs_run_in_order(self):
        programs = list(blocks(GUIDE.read_text(encoding="utf-8")))
        self.assertGreater(len(programs), 8)
        with inputs.directory():
            inputs.rootfs("rootfs")
            for name in ("data/draft.tmp", "var/cache/index"):
                pathlib.Path("rootfs", name).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path("rootfs", name).write_bytes(b"excluded\n")
            for line, needs, program in programs:
                missing = [name for name in needs if importlib.util.find_spec(name) is None]
                if missing == ["fsspec"] and "CI" in os.environ:
                    self.fail("fsspec is not installed, although CI is set")
                if missing:
                    print(f"line {line}: skipped, needs {', '.join(missing)}", file=sys.stderr)
                    continue
                with self.subTest(line=line):
                    command = [sys.executable, "-W", "error", "-c", program]
                    run = subprocess.run(command, capture_output=True, text=True, timeout=inputs.PROCESS_LIMIT)
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


class Docstrings(inputs.TestCase):
    def test_examples_print_what_they_say(self):
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
        with inputs.directory():
            inputs.rootfs("rootfs")
            packline.pack("rootfs", "root.sqfs")
            for name, text in docstrings():
                with self.subTest(name), packline.open("root.sqfs") as image:
                    test = parser.get_doctest(text, {"packline": packline, "image": image}, name, None, None)
                    report = io.StringIO()
                    self.assertEqual(runner.run(test, out=report.write).failed, 0, report.getvalue())
        self.assertGreaterEqual(runner.tries, 20)

    def test_each_public_name_has_a_docstring(self):
        missing = [name for name, text in docstrings() if not text]
        self.assertEqual(missing, [])


def docstrings():
    """The docstrings of the public names of packline, and of the methods of its classes."""
    yield "packline", packline.__doc__
    for name in packline.__all__:
        value = getattr(packline, name)
        yield name, value.__doc__ or ""
        if isinstance(value, type):
            classes = [base for base in value.__mro__ if base.__module__.startswith("packline")]
            members = {member: found for base in reversed(classes) for member, found in vars(base).items()}
            for member, found in members.items():
                if not member.startswith("_") and (callable(found) or inspect.isdatadescriptor(found)):
                    yield f"{name}.{member}", inspect.getdoc(getattr(value, member)) or ""


class Stubs(inputs.TestCase):
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
