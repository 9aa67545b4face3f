"""Tests of the arithmetic and of what is read from pgbench: python3 -m unittest discover -s bench -p '*_test.py'"""

import unittest

import driver
import summary

REPORT = """transaction type: script
number of transactions actually processed: 1234
number of failed transactions: {failed} (0.000%)
latency average = 0.8 ms
initial connection time = 4.5 ms
tps = 617.25 (without initial connection time)
"""


class Percentile(unittest.TestCase):
    def test_takes_the_nearest_rank(self):
        values = list(range(100, 0, -1))
        self.assertEqual(summary.percentile(values, 0.5), 50)
        self.assertEqual(summary.percentile(values, 0.99), 99)
        self.assertEqual(summary.percentile([7], 0.01), 7)

    def test_of_nothing_is_none(self):
        self.assertIsNone(summary.percentile([], 0.5))


class PairedRatio(unittest.TestCase):
    def test_compares_within_rounds(self):
        # The medians, 100 and 100, would say 1.0.
        self.assertEqual(summary.paired_ratio([10, 100, 200], [5, 50, 100]), 2)

    def test_refuses_rounds_that_are_missing(self):
        with self.assertRaises(ValueError):
            summary.paired_ratio([1, 2], [1])


class Cell(unittest.TestCase):
    def test_joins_rounds(self):
        found = summary.cell([driver.Run(10, 5.0, [1, 2]), driver.Run(20, 7.0, [9]), driver.Run(30, 6.0, [])])
        self.assertEqual(found, {"rates": [5.0, 7.0, 6.0], "rate": 6.0, "calls": 60, "p50_us": 2, "p99_us": 9})


class Report(unittest.TestCase):
    def test_is_read(self):
        self.assertEqual(driver.read_report(REPORT.format(failed=0)), (1234, 617.25))

    def test_with_failures_is_no_result(self):
        with self.assertRaises(driver.Failed):
            driver.read_report(REPORT.format(failed=1))
        with self.assertRaises(driver.Failed):
            driver.read_report("pgbench: error: client 0 aborted")

    def test_latency_is_the_third_field(self):
        self.assertEqual(driver.read_latencies(["0 199 2241 0 1175850568 995598", "1 7 81 0 1 2"]), [2241, 81])


if __name__ == "__main__":
    unittest.main()
