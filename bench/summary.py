"""The arithmetic of the benchmark."""

import statistics


def percentile(values, share):
    """Returns the value that this share of the values does not exceed (nearest rank), or None where there are none."""
    if not values:
        return None
    ranked = sorted(values)
    rank = -(-len(ranked) * share // 1)
    return ranked[max(int(rank), 1) - 1]


def paired_ratio(rates, other_rates):
    """Returns the median of the ratios of two contenders, taken round by round: what slows a round down slows both."""
    return statistics.median(rate / other for rate, other in zip(rates, other_rates, strict=True))


def cell(runs):
    """Sums up the rounds of one contender at one kind of work; latencies of all rounds count together."""
    latencies = [latency for run in runs for latency in run.latencies]
    rates = [run.rate for run in runs]
    return {
        "rates": [round(rate, 1) for rate in rates],
        "rate": round(statistics.median(rates), 1),
        "calls": sum(run.calls for run in runs),
        "p50_us": percentile(latencies, 0.50),
        "p99_us": percentile(latencies, 0.99),
    }
