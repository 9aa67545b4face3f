"""Draws the results as SVG."""

import matplotlib

matplotlib.use("svg")
# The same numbers give the same file; text stays text.
matplotlib.rcParams.update({"svg.hashsalt": "idem", "svg.fonttype": "none", "font.size": 9,
                            "axes.spines.top": False, "axes.spines.right": False})

import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

OURS_COLOUR, OTHER_COLOUR = "#1f6f8b", "#b8c4cc"
PANELS = (
    ("create", (8, False, 0), "create"),
    ("replay", (8, False, 0), "replay"),
    ("create", (8, True, 0), "create, synchronous_commit on"),
    ("create", (8, False, 500), "create, round trip of 0.5 ms"),
)


def save(figure, path):
    """Writes the file, without the moment in which it was written."""
    figure.savefig(path, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def throughput(measured, path):
    """Bars of calls per second, a panel for each kind of work."""
    panels = [panel for panel in PANELS if any(measured.cell(*panel[:2], name) for name in measured.data["about"])]
    figure, axes = plt.subplots(-(-len(panels) // 2), 2, figsize=(9, 1.9 * -(-len(panels) // 2) + 0.6), squeeze=False)
    for axis in axes.flat[len(panels):]:
        axis.set_axis_off()
    for axis, (work, surrounding, title) in zip(axes.flat, panels):
        names = [name for name in measured.contenders(work)
                 if "batch" not in name and measured.cell(work, surrounding, name)]
        rates = [measured.cell(work, surrounding, name)["rate"] for name in names]
        colours = [OURS_COLOUR if name.startswith("idem") or name == "attached" else OTHER_COLOUR for name in names]
        bars = axis.barh(names, rates, color=colours)
        axis.bar_label(bars, [f"{rate:,.0f}" for rate in rates], padding=3)
        axis.invert_yaxis()
        axis.set_title(title, loc="left")
        axis.set_xticks([])
        axis.spines["bottom"].set_visible(False)
    figure.suptitle("Calls per second, 8 clients (synchronous_commit off where nothing else is said)")
    figure.tight_layout()
    save(figure, path)


def growth(data, path):
    """Lines of calls per second over the number of rows."""
    works = list(dict.fromkeys(cell["work"] for cell in data["cells"]))
    figure, axes = plt.subplots(1, len(works), figsize=(9, 3), squeeze=False)
    for axis, work in zip(axes.flat, works):
        for name in dict.fromkeys(cell["contender"] for cell in data["cells"]):
            for keys in dict.fromkeys(cell["keys"] for cell in data["cells"]):
                points = sorted((cell["rows"], cell["rate"]) for cell in data["cells"]
                                if (cell["work"], cell["contender"], cell["keys"]) == (work, name, keys))
                axis.plot(*zip(*points), marker="o", label=f"{name}, {keys} keys",
                          color=OURS_COLOUR if name == "idem" else "#7c8a93",
                          linestyle="-" if keys == "ordered" else "--")
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("rows in the table")
        axis.set_title(f"{work}: calls per second, 8 clients", loc="left")
    axes.flat[0].legend(frameon=False)
    figure.tight_layout()
    save(figure, path)
