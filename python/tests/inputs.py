"""Inputs that the tests share."""

import contextlib
import os
import pathlib
import tempfile

CONTENT = bytes(range(256)) * 1200


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
