"""Reading images."""

import io
import os
import pickle
import signal
import stat
import threading
import unittest

import inputs
import packline

FORMATS = ("root.sqfs", "root.erofs")


class Reading(inputs.TestCase):
    @classmethod
    def setUpClass(cls):
        context = inputs.directory()
        cls.top = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        inputs.rootfs(cls.top / "rootfs")
        for name in FORMATS:
            packline.pack("rootfs", name)

    def images(self):
        for name in FORMATS:
            with packline.open(name) as image:
                yield image

    def test_an_image_is_a_mapping_of_paths(self):
        expected = []
        for path, directories, files in os.walk("rootfs"):
            expected += [os.path.relpath(os.path.join(path, name), "rootfs") for name in directories + files]
        for image in self.images():
            self.assertEqual(sorted(image), sorted(expected))
            self.assertEqual(len(image), len(expected))
            self.assertIn("etc/hostname", image)
            self.assertIn("/etc/hostname/", image)
            self.assertNotIn("etc/missing", image)
            self.assertNotIn(7, image)
            self.assertEqual(image[b"etc/hostname"].read(), b"box\n")
            self.assertIsNone(image.get("etc/missing"))
            self.assertEqual([path for path, entry in image.items() if path != entry.path], [])
            self.assertEqual(image[""].kind, "directory")
            self.assertEqual(len({image, image}), 1)
            with self.assertRaises(KeyError):
                image["etc/missing"]

    def test_entries_have_the_attributes_of_their_files(self):
        for image in self.images():
            with image.scandir("usr/bin") as entries:
                names = [(entry.name, entry.path) for entry in entries]
            self.assertEqual(names, [("app", "usr/bin/app"), ("app-2", "usr/bin/app-2")])
            for path, entry in image.items():
                there = os.lstat(os.path.join("rootfs", path))
                here = entry.stat()
                self.assertIsInstance(here, os.stat_result)
                self.assertEqual(here.st_mode, there.st_mode, path)
                self.assertEqual((here.st_uid, here.st_gid), (there.st_uid, there.st_gid))
                self.assertEqual(int(here.st_mtime), int(there.st_mtime))
                self.assertEqual(entry.is_symlink(), stat.S_ISLNK(there.st_mode))
                if entry.is_file():
                    self.assertEqual((here.st_size, here.st_nlink), (there.st_size, there.st_nlink))
                    self.assertEqual(entry.size, there.st_size)
            one, other = image["usr/bin/app"], image["usr/bin/app-2"]
            self.assertEqual(one.inode(), other.inode())
            self.assertEqual(one.stat().st_mtime_ns, 1_700_000_000_000_000_000)
            self.assertEqual(image["bin"].readlink(), "usr/bin")
            self.assertEqual(image.readlink("bin"), "usr/bin")
            self.assertEqual(os.fspath(one), "usr/bin/app")
            with self.assertRaises(ValueError):
                one.readlink()

    def test_symbolic_links_are_followed_where_it_is_promised(self):
        for image in self.images():
            self.assertEqual(image.resolve("bin/app"), "usr/bin/app")
            self.assertEqual(image.resolve("/bin/../../etc/./hostname"), "etc/hostname")
            self.assertEqual(image.read("bin/app"), inputs.CONTENT)
            self.assertTrue(stat.S_ISDIR(image.stat("bin").st_mode))
            self.assertTrue(stat.S_ISLNK(image.lstat("bin").st_mode))
            with self.assertRaises(packline.InvalidError):
                image.resolve("loop")
            with self.assertRaises(FileNotFoundError):
                image.resolve("bin/missing")

    def test_walks_and_selections(self):
        for image in self.images():
            found = [(path, sorted(directories), sorted(files)) for path, directories, files in image.walk()]
            there = []
            for path, directories, files in os.walk("rootfs"):
                path = os.path.relpath(path, "rootfs")
                links = [name for name in directories if os.path.islink(os.path.join("rootfs", path, name))]
                real = [name for name in directories if name not in links]
                there.append(("" if path == "." else path, sorted(real), sorted(files + links)))
            self.assertEqual(sorted(found), sorted(there))
            self.assertEqual([entry.path for entry in image.entries("*.csv")], ["data/more/table.csv", "data/table.csv"])
            self.assertEqual(
                [entry.path for entry in image.entries(["etc", "bin"])],
                # A name matches at any depth, with everything below it.
                ["bin", "etc", "etc/empty", "etc/hostname", "usr/bin", "usr/bin/app", "usr/bin/app-2"],
            )
            with self.assertRaises(packline.InvalidError):
                image.entries("a{b")
            for path, directories, _ in image.walk():
                self.assertNotEqual(path, "usr/bin")
                if path == "usr":
                    directories.remove("bin")

    def test_files_are_raw_file_objects(self):
        for image in self.images():
            with image.open("usr/bin/app") as file:
                self.assertIsInstance(file, io.RawIOBase)
                self.assertEqual((file.size, file.name), (len(inputs.CONTENT), "usr/bin/app"))
                self.assertEqual(file.read(5), inputs.CONTENT[:5])
                self.assertEqual(file.tell(), 5)
                self.assertEqual(file.seek(-3, io.SEEK_END), len(inputs.CONTENT) - 3)
                self.assertEqual(file.read(), inputs.CONTENT[-3:])
                self.assertEqual(file.read(), b"")
                self.assertEqual(file.seek(10**12), 10**12)
                self.assertEqual(file.read(1), b"")
                file.seek(200_000)
                buffer = bytearray(70_000)
                self.assertEqual(file.readinto(buffer), 70_000)
                self.assertEqual(buffer, inputs.CONTENT[200_000:270_000])
                self.assertEqual(file.pread(10, 131_070), inputs.CONTENT[131_070:131_080])
                for wrong in (lambda: file.seek(-1), lambda: file.seek(0, 9), lambda: file.pread(-1, 0)):
                    self.assertRaises(ValueError, wrong)
                self.assertFalse(file.writable())
                file.seek(0)
                buffered = io.BufferedReader(file)
                self.assertEqual(buffered.read(), inputs.CONTENT)
            self.assertRaises(ValueError, file.read)
            with io.TextIOWrapper(image.open("data/table.csv")) as lines:
                self.assertEqual(list(lines), ["name,count\n", "a,1\n", "b,2\n"])

    def test_many_files_are_read_in_order(self):
        paths = ["usr/bin/app", "etc/hostname", "data/table.csv", "bin/app", "etc/empty"] * 50
        for image in self.images():
            serial = [image.read(path) for path in paths]
            for workers in (0, 1, 2, 4):
                found = list(image.read_many(paths, workers=workers))
                self.assertEqual([path for path, _ in found], paths)
                self.assertEqual([content for _, content in found], serial)
            ranges = [("usr/bin/app", 100, 110), ("etc/hostname", 2, None), ("etc/hostname", 9, 12)]
            self.assertEqual(
                list(image.read_ranges(ranges)), [(ranges[0], inputs.CONTENT[100:110]), (ranges[1], b"x\n"), (ranges[2], b"")]
            )
            found = dict(image.read_many(["etc/missing", "etc", "etc/hostname"], on_error="return"))
            self.assertIsInstance(found["etc/missing"], FileNotFoundError)
            self.assertIsInstance(found["etc"], IsADirectoryError)
            self.assertEqual(found["etc/hostname"], b"box\n")
            with self.assertRaises(FileNotFoundError):
                list(image.read_many(["etc/missing"]))
            with self.assertRaises(packline.LimitError):
                list(image.read_many(["usr/bin/app"], limit=100))
            with self.assertRaises(ValueError):
                image.read_many([], on_error="ignore")

    def test_threads_share_an_image(self):
        for image in self.images():
            wrong = []

            def read():
                for _ in range(20):
                    if image.read("usr/bin/app") != inputs.CONTENT or len(list(image)) != len(image):
                        wrong.append(threading.get_ident())

            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_files_of_one_image_have_positions_of_their_own_in_threads(self):
        """PySquashfsImage needs a lock for this, and ratarmount has one: its image has one position for all files.

        https://github.com/matteomattei/PySquashfsImage/issues/26
        """
        for image in self.images():
            files = [image.open("usr/bin/app") for _ in range(8)]
            # The reads of a round run at the same time.
            barrier = threading.Barrier(len(files))
            wrong = []

            def read(number):
                files[number].seek(number * 1000)
                for at in range(number * 1000, number * 1000 + 200_000, 10_000):
                    barrier.wait(inputs.LIMIT)
                    if files[number].read(10_000) != inputs.CONTENT[at : at + 10_000]:
                        wrong.append((number, at))

            threads = [threading.Thread(target=read, args=(number,)) for number in range(len(files))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_a_forked_process_reads_with_the_objects_of_its_parent(self):
        """Its parent's threads do not exist there: waiting for them would last forever."""
        for image in self.images():
            pairs = image.read_many(["etc/hostname"] * 20_000, workers=2)
            next(pairs)
            child = os.fork()
            if child == 0:
                # Only the status reaches the parent; unittest must not go on here.
                try:
                    signal.alarm(inputs.PROCESS_LIMIT)
                    rest = sum(1 for _ in pairs)
                    del pairs
                    read = dict(image.read_many(["etc/hostname"], workers=2))
                    os._exit(0 if (rest, read) == (19_999, {"etc/hostname": b"box\n"}) else 1)
                finally:
                    os._exit(2)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(sum(1 for _ in pairs), 19_999)

    def test_images_of_paths_can_be_pickled(self):
        for image in self.images():
            copy = pickle.loads(pickle.dumps(image))
            self.assertEqual((copy.read("etc/hostname"), copy.size), (b"box\n", image.size))
        content = (self.top / "root.sqfs").read_bytes()
        for source in (content, bytearray(content), io.BytesIO(content)):
            self.assertRaises(TypeError, pickle.dumps, packline.open(source))
        image.close()
        self.assertRaises(ValueError, pickle.dumps, image)

    def test_sources_of_images(self):
        for name in FORMATS:
            content = (self.top / name).read_bytes()
            for source in (os.fsencode(os.path.abspath(name)).decode(), self.top / name, content, bytearray(content)):
                self.assertEqual(packline.open(source).read("etc/hostname"), b"box\n")
            with open(name, "rb") as file, packline.open(file) as image:
                self.assertEqual(image.read("usr/bin/app"), inputs.CONTENT)
                self.assertEqual(dict(image.read_many(["etc/hostname"], workers=2)), {"etc/hostname": b"box\n"})
            with self.assertRaises(TypeError):
                packline.open(7)

    def test_an_exception_of_a_file_object_is_the_cause(self):
        class Broken(io.BytesIO):
            def read(self, size=-1):
                raise RuntimeError("no connection")

        with self.assertRaises(packline.Error) as raised:
            packline.open(Broken((self.top / "root.sqfs").read_bytes()))
        self.assertIsInstance(raised.exception.__cause__, RuntimeError)

    def test_a_closed_image_is_an_error_and_its_files_stay_open(self):
        for image in self.images():
            file, entry = image.open("etc/hostname"), image["etc/hostname"]
            image.close()
            image.close()
            self.assertTrue(image.closed)
            for use in (lambda: image["etc"], lambda: list(image), lambda: image.read("etc/hostname"), lambda: image.size):
                self.assertRaises(ValueError, use)
            self.assertEqual((file.read(), entry.read()), (b"box\n", b"box\n"))

    def test_errors_are_those_that_python_programs_expect(self):
        for image in self.images():
            cases = [
                (FileNotFoundError, "not_found", lambda: image.read("etc/missing")),
                (IsADirectoryError, "is_directory", lambda: image.read("etc")),
                (NotADirectoryError, "not_directory", lambda: image.scandir("etc/hostname")),
                (packline.LimitError, "limit", lambda: image.read("usr/bin/app", limit=10)),
                (ValueError, "invalid", lambda: image.read("loop")),
            ]
            for expected, kind, action in cases:
                with self.assertRaises(expected) as raised:
                    action()
                self.assertIsInstance(raised.exception, packline.Error)
                self.assertEqual(raised.exception.kind, kind)
            with self.assertRaises(packline.NotFoundError) as raised:
                image.read("etc/missing")
            error = raised.exception
            self.assertEqual((error.entry, error.errno), ("etc/missing", 2))
            self.assertIn("there is no such entry", str(error))
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy), copy.kind, copy.entry), (type(error), str(error), error.kind, error.entry))
        with self.assertRaises(FileNotFoundError) as raised:
            packline.open("missing.sqfs")
        self.assertEqual(raised.exception.path, "missing.sqfs")
        for wrong in (b"", b"not an image" * 1000):
            self.assertRaises(packline.WrongFormatError, packline.open, wrong)

    def test_damage_has_an_offset(self):
        content = bytearray((self.top / "root.sqfs").read_bytes())
        table = int.from_bytes(content[64:72], "little")
        content[table : table + 16] = b"\xff" * 16
        with self.assertRaises(packline.CorruptError) as raised:
            image = packline.open(content)
            list(image)
        self.assertIsInstance(raised.exception.offset, int)

    def test_images_without_damage_have_no_findings(self):
        for image in self.images():
            self.assertEqual([finding.what for finding in image.verify() if finding.fault], [])

    def test_unpacking(self):
        for image in self.images():
            target = f"out-{image.container}"
            self.assertEqual(image.unpack(target, select=["etc"], workers=2).content_bytes, 4)
            self.assertEqual(sorted(os.listdir(f"{target}/etc")), ["empty", "hostname"])
            with self.assertRaises(FileExistsError):
                image.unpack(target)
            image.unpack(target, replace=True)
            with open(f"{target}/usr/bin/app", "rb") as file:
                self.assertEqual(file.read(), inputs.CONTENT)

    def test_owners_are_set_where_they_can_be(self):
        tree = packline.Tree()
        tree.add("file", b"x", uid=os.geteuid() + 1, gid=os.getegid(), mode=0o4755)
        target = io.BytesIO()
        packline.pack(tree, target)
        root = os.geteuid() == 0
        with packline.open(target.getvalue()) as image:
            image.unpack("default")
            image.unpack("own", owners=False)
            if root:
                image.unpack("all", owners=True)
            else:
                self.assertRaises(PermissionError, image.unpack, "all", owners=True)
        for name, owner, mode in [("default", root, 0o4755 if root else 0o755), ("own", 0, 0o755)]:
            found = os.stat(f"{name}/file")
            self.assertEqual((found.st_uid - os.geteuid(), stat.S_IMODE(found.st_mode)), (owner, mode))


if __name__ == "__main__":
    unittest.main()
