"""The schedule of faults: repeatable, complete, and the same for kinds that are left out."""

import itertools
import unittest

from faults import Injector
from schedule import AT_STATEMENT, DECK, cards


def take(count, seed, kinds=tuple(DECK)):
    """Returns the first cards."""
    return list(itertools.islice(cards(seed, kinds), count))


class Schedule(unittest.TestCase):
    def test_is_the_same_for_the_same_seed(self):
        self.assertEqual(take(300, 7), take(300, 7))
        self.assertNotEqual(take(300, 7), take(300, 8))

    def test_has_every_kind_in_every_hundred_faults(self):
        self.assertEqual(sum(DECK.values()), 100)
        kinds = [card.kind for card in take(300, 7)]
        for start in (0, 100, 200):
            self.assertEqual({kind: kinds[start:start + 100].count(kind) for kind in DECK}, DECK)

    def test_leaves_kinds_out_without_changing_the_others(self):
        kinds = [kind for kind in DECK if "redis" not in kind]
        left = [card for card in take(200, 7) if card.kind in kinds]
        self.assertEqual(take(len(left), 7, kinds), left)

    def test_has_no_kind_that_cannot_be_made(self):
        for kind in DECK:
            self.assertTrue(kind in AT_STATEMENT or hasattr(Injector, f"_{kind}"), kind)


if __name__ == "__main__":
    unittest.main()
