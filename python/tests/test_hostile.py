"""A damaged image raises exceptions, and never ends the program."""

import unittest

import mutants


class Hostile(unittest.TestCase):
    def test_mutants_raise_only_errors_of_packline(self):
        raised, kinds = mutants.run(200, "short")
        self.assertGreater(raised, 50)
        self.assertIn("corrupt", kinds)


if __name__ == "__main__":
    unittest.main()
