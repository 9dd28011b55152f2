"""Writes cells.txt: the numbers that the cells of the five notebooks show, a line for each cell with an output.

    python3 tests/golden/make_cells.py DIRECTORY > tests/golden/cells.txt

DIRECTORY has the notebooks as text, 000_*.txt to 004_*.txt. A line is NOTEBOOK CELL ITEM ITEM .., with the number of
In [n], or in 003, which has none, that of the block of code. Items are the numbers in their order, as printed but for
zeros that say nothing (1.4950 is 1.495, 1. is 1); `random` in place of numbers that change with every run; `picture`
for a heatmap; `text:` and a sentence with _ for spaces. Labels, shapes and dtypes are no items."""
import pathlib
import re
import sys

# The text does not mark where code ends and output begins. These begin a line of output with numbers, never one of code
# or prose: code has its arrays behind a name, and continues them in lines that begin with a space.
BEGINS = re.compile(r"\[+[ \d]|array\(|tensor\(|tf\.Tensor\(|\(?<tf\.Tensor|shape of one head|"
                    r"(Attention|Sum|All) .*:( tensor|$)")
# These go on with an output that has begun: further rows, tensors, dtypes, the numbers of a row, blank lines.
GOES_ON = re.compile(r" +([\[\d]|tensor|array|<tf\.Tensor|dtype=)|$")
SHAPE = re.compile(r"shape=\([\d, ]*\)")
NUMBER = re.compile(r"(?<![\w.])(-?\d+(?:\.\d*)?)(e[-+]\d+)?(?!\w)")  # so not the 32 of dtype=int32
SENTENCE = re.compile(r"""\[\{'translation_text': "(.*)"\}\]""")
RANDOM = {("000", 13), ("000", 15), ("001", 14), ("001", 16)}  # np.random without a seed


def numbers(line):
    for mantissa, exponent in NUMBER.findall(SHAPE.sub("", line)):
        yield (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + exponent


def shown(cell):
    """The items of the output in the text of a cell, which goes on to the next cell: code, output, prose."""
    items, output = [], False
    for line in cell.split("\n"):
        output = bool(BEGINS.match(line) or output and GOES_ON.match(line))
        if output:
            items += numbers(line)
        elif sentence := SENTENCE.match(line):
            items.append("text:" + sentence[1].replace(" ", "_"))
    return items


def cells(notebook, text):
    """Pairs of a cell's number and the items of its output."""
    if notebook == "003":
        parts = re.split(r"^```$", text, flags=re.M)  # prose, code, prose, code, .., prose
        for n, (code, prose) in enumerate(zip(parts[1::2], parts[2::2]), 1):
            result = re.match(r"\s*Result: (.*)", prose)
            yield n, ["picture"] if "sns.heatmap(" in code else list(numbers(result[1])) if result else []
    else:
        parts = re.split(r"^In \[(\d+)\]:$", text, flags=re.M)  # prose, number, cell, number, cell, ..
        for n, cell in zip(map(int, parts[1::2]), parts[2::2]):
            yield n, ["random"] if (notebook, n) in RANDOM else shown(cell)


sys.stdout.reconfigure(encoding="utf-8", newline="\n")
for notebook in "000", "001", "002", "003", "004":
    (path,) = pathlib.Path(sys.argv[1]).glob(notebook + "_*.txt")
    for n, items in cells(notebook, path.read_text(encoding="utf-8")):
        if items:
            print(notebook, n, *items)
