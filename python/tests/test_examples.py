"""The programs of python/examples, with small inputs."""

import pathlib
import pickle
import re
import subprocess
import sys
import unittest

import inputs
import packline

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))
import dataset  # noqa: E402


class Dataset(inputs.TestCase):
    def test_each_epoch_reads_all_files(self):
        with inputs.directory():
            command = [sys.executable, EXAMPLES / "dataset.py", "--make", "500", "--batch", "150", "files.sqfs"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=inputs.PROCESS_LIMIT)
            self.assertEqual(run.returncode, 0, run.stderr)
            epochs = [re.match(r"epoch \d: (\d+) files, (\d+) bytes, ", line).groups() for line in run.stdout.splitlines()]
            self.assertEqual(len(epochs), 2)
            with packline.open("files.sqfs") as image:
                sizes = [entry.size for entry in image.values() if entry.is_file()]
            self.assertEqual(set(epochs), {("500", str(sum(sizes)))})

    def test_items_are_contents_with_labels(self):
        with inputs.directory():
            packline.pack({"train/cat/1": b"one", "train/dog/2": b"two", "other": b""}, "files.sqfs")
            files = dataset.ImageDataset("files.sqfs", select="train", transform=bytes.decode)
            for found in (files, pickle.loads(pickle.dumps(files))):
                self.assertEqual([found[number] for number in range(len(found))], [("one", "cat"), ("two", "dog")])
                self.assertEqual(found.__getitems__([1, 0]), [("two", "dog"), ("one", "cat")])


if __name__ == "__main__":
    unittest.main()
