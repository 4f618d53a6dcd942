"""Packing."""

import io
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import threading
import time
import unittest
import warnings

import inputs
import packline


class Packing(inputs.TestCase):
    def setUp(self):
        context = inputs.directory()
        self.top = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        inputs.rootfs("rootfs")

    def test_options_reach_the_image(self):
        packed = packline.pack("rootfs", "a.sqfs", codec="gzip", level=3, block_size="64K", owner=(7, 8), exclude=["*.csv"])
        self.assertEqual((packed.container, packed.output_bytes), ("squashfs", os.path.getsize("a.sqfs")))
        with packline.open("a.sqfs") as image:
            self.assertEqual(image.block_size, 65536)
            self.assertTrue(image.codec.startswith("gzip"), image.codec)
            self.assertEqual((image["etc"].stat().st_uid, image["etc"].stat().st_gid), (7, 8))
            self.assertEqual([path for path in image if path.endswith(".csv")], [])
        packline.pack(self.top / "rootfs", "b", container="erofs", codec="lz4hc:level=9", mtime=5, exclude=("etc", "data"))
        with packline.open("b") as image:
            self.assertEqual(image.container, "erofs")
            self.assertEqual({entry.stat().st_mtime for entry in image.values()}, {5.0})
            self.assertNotIn("etc", image)

    def test_the_bytes_do_not_depend_on_workers(self):
        hashes = set()
        for workers in (0, 1, 3):
            packline.pack("rootfs", "a.sqfs", workers=workers, replace=True)
            hashes.add(pathlib.Path("a.sqfs").read_bytes())
        target = io.BytesIO()
        packline.pack("rootfs", target)
        hashes.add(target.getvalue())
        self.assertEqual(len(hashes), 1)

    def test_wrong_requests_are_errors(self):
        for options in (
            {"levle": 3},
            {"codec": "zap"},
            {"codec": "zstd", "level": 99},
            {"layout": "loose"},
            {"exclude": "a{b"},
            {"replace": "maybe"},
        ):
            with self.subTest(options), self.assertRaises(ValueError) as raised:
                packline.pack("rootfs", "a.sqfs", **options)
            self.assertIsInstance(raised.exception, packline.Error)
        with self.assertRaises(packline.LimitError):
            packline.pack("rootfs", "a.sqfs", block_size=5)
        for options in ({"time": 1.5}, {"progress": 7}):
            with self.subTest(options), self.assertRaises(TypeError):
                packline.pack("rootfs", "a.sqfs", **options)
        self.assertRaises(TypeError, packline.pack, 7, "a.sqfs")
        self.assertRaises(FileNotFoundError, packline.pack, "missing", "a.sqfs")
        self.assertRaises(packline.InvalidError, packline.pack, "rootfs", "a.zip")
        self.assertFalse(os.path.exists("a.sqfs"))
        packline.pack("rootfs", "a.sqfs")
        self.assertRaises(FileExistsError, packline.pack, "rootfs", "a.sqfs")

    def test_sources(self):
        with tarfile.open("a.tar", "w") as tar:
            tar.add("rootfs", ".")
        packline.pack("a.tar", "tar.sqfs")
        packline.pack("tar.sqfs", "image.sqfs")
        packline.pack(packline.open("tar.sqfs"), "opened.sqfs")
        packline.pack(["rootfs", {"etc/hostname": b"other\n"}], "stack.sqfs")
        for name in ("tar.sqfs", "image.sqfs", "opened.sqfs", "stack.sqfs"):
            with packline.open(name) as image:
                self.assertEqual(image.read("usr/bin/app"), inputs.CONTENT)
                self.assertEqual(image.read("etc/hostname"), b"other\n" if name == "stack.sqfs" else b"box\n")

    def test_trees(self):
        for target in ("a.sqfs", "a.erofs"):
            tree = packline.Tree({"a/b": b"bytes", b"a/c": bytearray(b"array")})
            tree.add("view", memoryview(b"view"), mode=0o4755, uid=1, gid=2, mtime=5)
            tree.add("host", pathlib.Path("rootfs/etc/hostname"))
            tree.add("stream", io.BytesIO(inputs.CONTENT), xattrs={"user.note": b"\xff"})
            tree.add_directory("empty", mode=0o700)
            tree.add_symlink("link", "a/b")
            tree.add_hard_link("hard", "a/b")
            tree.add_special("null", "char_device", major=1, minor=3)
            tree.add_special("pipe", "fifo")
            packline.pack(tree, target)
            with packline.open(target) as image:
                contents = {"a/b": b"bytes", "a/c": b"array", "view": b"view", "host": b"box\n", "stream": inputs.CONTENT}
                self.assertEqual(dict(image.read_many(contents)), contents)
                status = image["view"].stat()
                self.assertEqual((status.st_mode, status.st_uid, status.st_gid, status.st_mtime), (0o104755, 1, 2, 5))
                self.assertEqual(image["stream"].xattrs(), {"user.note": b"\xff"})
                self.assertEqual(image["empty"].stat().st_mode, 0o40700)
                self.assertEqual(image["hard"].inode(), image["a/b"].inode())
                self.assertEqual(image["null"].stat().st_rdev, os.makedev(1, 3))
                self.assertEqual((image["null"].kind, image["pipe"].kind), ("char_device", "fifo"))
            self.assertRaises(ValueError, packline.pack, tree, "again.sqfs")
        tree = packline.Tree()
        for wrong in (lambda: tree.add("../a", b""), lambda: tree.add("", b""), lambda: tree.add_special("a", "file")):
            self.assertRaises(ValueError, wrong)
        for wrong in (lambda: tree.add("a", "text"), lambda: tree.add("a", b"", moed=1), lambda: tree.add(7, b"")):
            self.assertRaises(TypeError, wrong)

    def test_names_may_be_any_bytes(self):
        packline.pack({b"\xff\xfe": b"1", "\u00e9": b"2"}, "a.sqfs")
        with packline.open("a.sqfs") as image:
            self.assertEqual(sorted(os.fsencode(path) for path in image), [b"\xc3\xa9", b"\xff\xfe"])
            self.assertEqual({image[path].read() for path in image}, {b"1", b"2"})
            with self.assertRaises(packline.NotFoundError) as raised:
                image[b"\xff/\xfd"]
            self.assertEqual(os.fsencode(raised.exception.entry), b"\xff/\xfd")

    def test_exceptions_of_readers_and_callbacks_are_raised(self):
        class Broken(io.BytesIO):
            def read(self, size=-1):
                raise RuntimeError("no connection")

        with self.assertRaises(packline.Error) as raised:
            packline.pack({"a": Broken()}, "a.sqfs")
        self.assertIsInstance(raised.exception.__cause__, RuntimeError)
        self.assertFalse(os.path.exists("a.sqfs"))

        def callback(progress):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            packline.pack("rootfs", "a.sqfs", progress=callback)
        # The image is complete if the callback was first called at the end.
        if os.path.exists("a.sqfs"):
            with packline.open("a.sqfs") as image:
                self.assertEqual(image.verify(), [])

    def test_progress_reaches_the_end_on_the_calling_thread(self):
        seen = []
        packed = packline.pack("rootfs", "a.sqfs", progress=lambda now: seen.append((now, threading.get_ident())))
        self.assertEqual(seen[-1][0].content_bytes, packed.content_bytes)
        self.assertEqual({thread for _, thread in seen}, {threading.get_ident()})

    def test_tokens_cancel(self):
        token = packline.CancelToken()
        timer = threading.Timer(0.2, token.cancel)
        timer.start()
        with self.assertRaises(packline.CancelledError):
            packline.pack({"a": EndlessReader()}, "a.sqfs", cancel=token, scratch=".")
        self.assertTrue(token.cancelled)
        self.assertEqual(os.listdir(), ["rootfs"])

    def test_a_token_that_is_set_cancels_each_operation(self):
        token = packline.CancelToken()
        packline.pack({"a": b"a"}, "whole.sqfs", cancel=token)
        image = packline.open("whole.sqfs")
        token.cancel()
        for action in (
            lambda: packline.pack({"a": b"a"}, "a.sqfs", cancel=token),
            lambda: image.unpack("unpacked", cancel=token),
            lambda: image.verify(cancel=token),
        ):
            self.assertRaises(packline.CancelledError, action)
        self.assertEqual(sorted(os.listdir()), ["rootfs", "whole.sqfs"])

    def test_ctrl_c_cancels(self):
        program = (
            "import packline, sys; sys.path.insert(0, sys.argv[1]); from test_pack import EndlessReader\n"
            "try: packline.pack({'a': EndlessReader(print)}, 'a.sqfs', scratch='.')\n"
            "except KeyboardInterrupt: print('interrupted')\n"
        )
        here = os.path.dirname(os.path.abspath(__file__))
        run = subprocess.Popen([sys.executable, "-c", program, here], stdout=subprocess.PIPE, text=True)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        with run.stdout:
            self.assertEqual(run.stdout.readline(), "reading\n")
            run.send_signal(signal.SIGINT)
            output, _ = run.communicate(timeout=inputs.PROCESS_LIMIT)
        self.assertEqual((output, run.returncode), ("interrupted\n", 0))
        self.assertEqual(os.listdir(), ["rootfs"])

    def test_warnings_are_python_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            packline.pack({"a": b""}, "b.sqfs", memory="40M", workers=64)
        for warning in caught:
            self.assertTrue(issubclass(warning.category, packline.Warning))
        self.assertTrue(caught)


class EndlessReader:
    """A slow reader without an end."""

    def __init__(self, started=None):
        self.started = started

    def read(self, size):
        if self.started:
            self.started("reading", flush=True)
            self.started = None
        time.sleep(0.01)
        return bytes(min(size, 4096))


if __name__ == "__main__":
    unittest.main()
