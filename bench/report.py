"""Writes the results as Markdown and as plots.

usage: report.py FOLDER      reads FOLDER/measured.json and FOLDER/growth.json, as far as they are there
"""

import json
import os
import statistics
import sys

import plots
import summary

WORKS = {
    "create": "Create: each call has a new key",
    "replay": "Replay: each call repeats a stored request",
    "mix": "Mix: new keys, and 5 % retries of calls made before",
    "try": "Conflict as an outcome: a stored key with another amount",
    "raise": "Conflict as an error, caught in a block of PL/pgSQL",
    "hot": "One hot key: all clients send the same request",
}


class Measured:
    """What measure.py found."""

    def __init__(self, data):
        self.data = data
        self.cells = {(cell["work"], cell["clients"], cell["sync"], cell["delay_us"], cell["contender"]): cell
                      for cell in data["cells"]}

    def surroundings(self, work):
        """Lists the combinations of clients, commit and round trip in which a kind of work was measured."""
        return sorted({key[1:4] for key in self.cells if key[0] == work}, key=lambda key: (key[2], key[1], key[0]))

    def contenders(self, work):
        """Lists those that took part, in the order of the contest."""
        return [name for name in self.data["about"] if any(key[0] == work and key[4] == name for key in self.cells)]

    def cell(self, work, surrounding, name):
        """Returns what was found, or nothing."""
        return self.cells.get((work, *surrounding, name))

    def ratio(self, work, surrounding, name):
        """Returns our rate divided by the other one's, pair by pair, or nothing."""
        ours = self.cell(work, surrounding, "idem (batch)" if "batch" in name else "idem")
        other = self.cell(work, surrounding, name)
        return summary.paired_ratio(ours["rates"], other["rates"]) if ours and other and ours is not other else None


def table(head, rows):
    """Returns a table in Markdown, whose first column is text and whose others are numbers."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(field) for field in line) + " |" for line in lines) + "\n"


def milliseconds(value):
    """Shows microseconds as milliseconds."""
    return "" if value is None else f"{value / 1000:.2f}"


def surrounding_name(surrounding):
    """Says what surrounds a measurement."""
    clients, sync, delay = surrounding
    return (f"{clients} client{'s' * (clients != 1)}, commit {'on' if sync else 'off'}"
            + (f", round trip {delay / 1000:g} ms" if delay else ""))


def rate_table(measured, work):
    """Calls per second, with our ratio to each other contender."""
    names = measured.contenders(work)
    rows = []
    for surrounding in measured.surroundings(work):
        row = [surrounding_name(surrounding)]
        for name in names:
            cell, ratio = measured.cell(work, surrounding, name), measured.ratio(work, surrounding, name)
            row.append("" if cell is None else f"{cell['rate']:,.0f}" + (f" ({ratio:.2f})" if ratio else ""))
        rows.append(row)
    return table(["calls per second", *names], rows)


def latency_table(measured, work):
    """The median and the 99th percentile of a call's time; a batch is one call and is left out."""
    names = [name for name in measured.contenders(work) if "batch" not in name]
    rows = []
    for surrounding in measured.surroundings(work):
        cells = [measured.cell(work, surrounding, name) for name in names]
        rows.append([surrounding_name(surrounding)] + [
            f"{milliseconds(cell['p50_us'])} / {milliseconds(cell['p99_us'])}" if cell else "" for cell in cells])
    return table(["p50 / p99 in ms", *names], rows)


def cost_table(data):
    """Log, buffers and instructions of one call."""
    instructions = {row["contender"]: row for row in data["instructions"]}
    rows = []
    for row in data["calls"]:
        counted = instructions.get(row["contender"], {}).get(row["work"])
        rows.append([f"{row['contender']}, {row['work']}", f"{row['wal_bytes']:,.0f}", f"{row['buffers']:.1f}",
                     f"{counted:,}" if counted else ""])
    return table(["per call", "WAL bytes", "buffers", "instructions"], rows)


def size_table(data):
    """Bytes that a key takes."""
    return table(["bytes per key", "table", "indexes"],
                 [[row["contender"], f"{row['table_bytes']:.0f}", f"{row['index_bytes']:.0f}"]
                  for row in data["sizes"]])


def growth_tables(data):
    """Rates by the number of rows, each with its ratio to that of the smallest table, pair by pair."""
    text = ""
    for keys in dict.fromkeys(cell["keys"] for cell in data["cells"]):
        rows = []
        for cell in (cell for cell in data["cells"] if cell["keys"] == keys):
            smallest = min((other for other in data["cells"]
                            if all(other[field] == cell[field] for field in ("work", "keys", "contender"))),
                           key=lambda other: other["rows"])
            rows.append([f"{cell['contender']}, {cell['work']}, {cell['rows'] / 1e6:g} million rows",
                         f"{cell['rate']:,.0f}", f"{summary.paired_ratio(cell['rates'], smallest['rates']):.2f}",
                         f"{milliseconds(cell['p50_us'])} / {milliseconds(cell['p99_us'])}",
                         f"{cell['wal_bytes']:,.0f}", f"{cell['table_bytes']:.0f} + {cell['index_bytes']:.0f}"])
        title = "Keys that rise, like UUIDs of version 7" if keys == "ordered" else "Random keys"
        text += f"### {title}\n\n" + table(
            ["8 clients, commit off", "calls per second", "to the smallest", "p50 / p99 in ms", "WAL bytes per call",
             "bytes per key: table + indexes"], rows) + "\n"
    return text


def machine_text(data):
    """Says where and when this was measured, and how steady it was."""
    machine = data["machine"]
    settings = ", ".join(f"{name} = {value}" for name, value in machine["settings"].items())
    spread = statistics.median(max(cell["rates"]) / min(cell["rates"]) for cell in data["cells"])
    load_at_start, load_at_end = (", ".join(map(str, load)) for load in (machine["load_at_start"], data["load_at_end"]))
    return (f"* {data['date']}, {machine['server']}, Linux {machine['kernel']}, {machine['cores']} cores of "
            f"{machine['processor']}, {machine['memory_gib']} GiB. Server and clients share the machine.\n* Settings: "
            f"{settings}.\n* Rounds: {data['rounds']} of {data['seconds']} s. Load average (1, 5, 15 minutes) at the "
            f"start {load_at_start}; at the end {load_at_end}.\n* The fastest round of a row is "
            f"{spread:.2f} times its slowest (median of all rows).\n")


INTRODUCTION = """# Results of the benchmark

Written by `make bench` and `make bench-growth`; [bench/README.md](../README.md) says what is measured, and how. Rates
are medians over the rounds. The number in parentheses is the rate of idem divided by the rate of that column: the
median of the ratios within each round, in which all contenders work one after the other. Above 1, idem is faster.
Batches are compared with batches. *Commit on* and *off* tell the setting of `synchronous_commit`.
"""


def write(folder):
    """Writes README.md and the plots into the folder."""
    text = INTRODUCTION
    measured_path, growth_path = (os.path.join(folder, name) for name in ("measured.json", "growth.json"))
    if os.path.exists(measured_path):
        with open(measured_path, encoding="utf-8") as file:
            measured = Measured(json.load(file))
        text += f"\n{machine_text(measured.data)}\n"
        text += "".join(f"* *{name}*: {about}\n" for name, about in measured.data["about"].items())
        plots.throughput(measured, os.path.join(folder, "throughput.svg"))
        text += "\n![Calls per second with 8 clients](throughput.svg)\n"
        for work, title in WORKS.items():
            if measured.contenders(work):
                text += f"\n## {title}\n\n{rate_table(measured, work)}\n{latency_table(measured, work)}"
        text += f"\n## What a call costs\n\n{cost_table(measured.data)}\n{size_table(measured.data)}"
    if os.path.exists(growth_path):
        with open(growth_path, encoding="utf-8") as file:
            growth = json.load(file)
        plots.growth(growth, os.path.join(folder, "growth.svg"))
        text += f"\n## Growth\n\n{machine_text(growth)}\n![Calls per second as tables grow](growth.svg)\n\n"
        text += growth_tables(growth)
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
        file.write(text.rstrip() + "\n")


if __name__ == "__main__":
    write(sys.argv[1])
