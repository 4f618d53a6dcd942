"""A damaged image raises exceptions, and never ends the program."""

import unittest

import inputs
import mutants


class Hostile(inputs.TestCase):
    def test_mutants_raise_only_errors_of_packline(self):
        count = 60 if inputs.SHORT else 200
        raised, kinds = mutants.run(count, "short")
        self.assertGreater(raised, count // 4)
        self.assertIn("corrupt", kinds)


if __name__ == "__main__":
    unittest.main()
