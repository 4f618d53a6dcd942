"""Inputs that the tests share."""

import contextlib
import faulthandler
import os
import pathlib
import tempfile
import unittest

CONTENT = bytes(range(256)) * 1200
"""Whether the slowest tests run a part of their cases."""
SHORT = os.environ.get("PACKLINE_TESTS") == "short"
"""Seconds for one test, and for a process that a test starts."""
LIMIT = 240
PROCESS_LIMIT = 120


class TestCase(unittest.TestCase):
    """A test that must not hang: after LIMIT seconds, the stacks of all threads are printed and the process ends."""

    def run(self, result=None):
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            return super().run(result)
        finally:
            faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def directory():
    """A temporary directory, which is the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as path:
        os.chdir(path)
        try:
            yield pathlib.Path(path)
        finally:
            os.chdir(before)


def rootfs(top):
    """A small tree."""
    for name, content in {
        "etc/hostname": b"box\n",
        "etc/empty": b"",
        "usr/bin/app": CONTENT,
        "data/table.csv": b"name,count\na,1\nb,2\n",
        "data/more/table.csv": b"name,count\nc,3\n",
    }.items():
        path = pathlib.Path(top, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    pathlib.Path(top, "usr/bin/app").chmod(0o755)
    pathlib.Path(top, "bin").symlink_to("usr/bin")
    pathlib.Path(top, "loop").symlink_to("loop")
    os.link(pathlib.Path(top, "usr/bin/app"), pathlib.Path(top, "usr/bin/app-2"))
