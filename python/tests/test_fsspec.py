"""The file system of fsspec. Skipped without fsspec, except in CI."""

import io
import os
import pickle
import unittest

import inputs
import packline

try:
    import fsspec
except ImportError:
    fsspec = None


@unittest.skipIf(fsspec is None and "CI" not in os.environ, "needs fsspec")
class FileSystem(inputs.TestCase):
    def setUp(self):
        self.assertIsNotNone(fsspec, "fsspec is not installed, although CI is set")
        context = inputs.directory()
        self.top = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        inputs.rootfs("rootfs")
        packline.pack("rootfs", "root.sqfs")
        self.files = fsspec.filesystem("packline", fo=str(self.top / "root.sqfs"))

    def test_urls(self):
        with fsspec.open(f"packline://etc/hostname::{self.top}/root.sqfs") as file:
            self.assertEqual(file.read(), b"box\n")
        with fsspec.open(f"packline://etc/hostname::file://{self.top}/root.sqfs", "rt") as file:
            self.assertEqual(file.read(), "box\n")
        memory = fsspec.filesystem("memory")
        memory.pipe("/root.sqfs", (self.top / "root.sqfs").read_bytes())
        found = fsspec.open_files("packline://data/**/*.csv::memory://root.sqfs")
        self.assertEqual(sorted(file.path for file in found), ["data/more/table.csv", "data/table.csv"])
        with found[0] as file:
            self.assertTrue(file.read().startswith(b"name,count"))

    def test_listings(self):
        files = self.files
        self.assertEqual(sorted(files.ls("", detail=False)), ["bin", "data", "etc", "loop", "usr"])
        self.assertEqual(files.ls("/etc/", detail=False), ["etc/empty", "etc/hostname"])
        self.assertEqual([entry["type"] for entry in files.ls("data")], ["directory", "file"])
        self.assertEqual(files.ls("etc/hostname", detail=False), ["etc/hostname"])
        self.assertEqual(files.ls("bin", detail=False), ["bin/app", "bin/app-2"])
        self.assertEqual(files.info("bin")["type"], "directory")
        self.assertEqual(files.info("bin")["destination"], "usr/bin")
        self.assertEqual(files.info("loop")["type"], "other")
        self.assertEqual(files.info("bin/app")["size"], len(inputs.CONTENT))
        self.assertEqual(files.info("")["type"], "directory")
        self.assertEqual(files.glob("**/*.csv"), ["data/more/table.csv", "data/table.csv"])
        self.assertEqual(files.find("data"), ["data/more/table.csv", "data/table.csv"])
        self.assertTrue(files.exists("etc") and files.isdir("etc") and files.isfile("etc/hostname"))
        self.assertFalse(files.exists("etc/missing"))
        self.assertEqual(files.modified("etc/hostname").timestamp(), 1_700_000_000)
        for wrong in (lambda: files.ls("missing"), lambda: files.info("missing"), lambda: files.open("missing")):
            self.assertRaises(FileNotFoundError, wrong)

    def test_contents(self):
        files = self.files
        self.assertEqual(files.cat("etc/hostname"), b"box\n")
        self.assertEqual(files.cat_file("usr/bin/app", 5, 10), inputs.CONTENT[5:10])
        self.assertEqual(files.cat_file("usr/bin/app", -5), inputs.CONTENT[-5:])
        self.assertEqual(files.cat(["etc/hostname", "etc/empty"]), {"etc/hostname": b"box\n", "etc/empty": b""})
        self.assertEqual(len(files.cat("data", recursive=True)), 2)
        ranges = files.cat_ranges(["usr/bin/app", "usr/bin/app", "etc/hostname"], [0, -4, 1], [3, None, 2])
        self.assertEqual(ranges, [inputs.CONTENT[:3], inputs.CONTENT[-4:], b"o"])
        missing = files.cat_ranges(["etc/missing"], [0], [1], on_error="return")
        self.assertIsInstance(missing[0], FileNotFoundError)
        with files.open("usr/bin/app") as file:
            self.assertIsInstance(file, io.BufferedReader)
            file.seek(1000)
            self.assertEqual(file.read(10), inputs.CONTENT[1000:1010])
        self.assertRaises(OSError, files.open, "etc/hostname", "wb")
        files.get("etc/hostname", "copied")
        self.assertEqual((self.top / "copied").read_bytes(), b"box\n")

    def test_a_file_system_travels_between_processes(self):
        copy = pickle.loads(pickle.dumps(self.files))
        self.assertEqual(copy.cat("etc/hostname"), b"box\n")
        self.assertRaises(ValueError, fsspec.filesystem, "packline", fo="root.sqfs", mode="w")


if __name__ == "__main__":
    unittest.main()
