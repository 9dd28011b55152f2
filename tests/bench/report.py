"""Writes the figures of `make bench` into a page, between the two comments that name this file, and draws a picture.

    python3 tests/bench/report.py build/bench.tsv tests/bench/README.md tests/bench/speed.svg

That is what `make bench-report` runs. Each line of the first file is a figure: work, heads x keys x size, number of
threads, what it is relative to, unit, value, bar; or, after a #, the version measured, which goes into the page's
sentence about it."""
import os
import re
import sys
from collections import namedtuple
from math import log2

Figure = namedtuple("Figure", "work shape of against unit value missed")
NAMES = {"OpenBLAS": "OpenBLAS, unfused", "oneDNN": "oneDNN, unfused", "memory kept": "PyTorch, memory kept",
         "error of PyTorch": "error, of PyTorch's"}
COLOURS = {"attn.h": "#0b57d0", "PyTorch": "#c2410c", "ONNX Runtime": "#7e22ce", "oneDNN": "#15803d",
           "OpenBLAS": "#6b7280"}
AGAINST = {"peak": " of the peak", "read": " of the read", "one thread": " one thread", "f32 speed": " the f32 speed",
           "plain time": " the plain time", "plain loop": " the plain loop", "all keys": " all keys",
           "one by one": " one by one", "cache": " the cache", "AVX512": " AVX512", "vfmadd231ps": " vfmadd231ps",
           "time of one query": " the time of one query", "f32 time": " the f32 time", "default": " the default"}
AGAINST.update({f"{name}, [L,H,D]": f"{text} in [L,H,D]" for name, text in AGAINST.items()})
AGAINST["[H,L,D]"] = " as fast in [L,H,D] as in [H,L,D]"
TRAINING = {"backward, of the forward call's time": ("1 thread", "forward time"),
            "two threads over one": ("2 threads", "one thread"),
            "of the plain backward's time": ("1 thread", "plain time"),
            "the same of the forward call": ("forward call", "plain time"),
            "with forward, over the plain loop": ("1 thread", "plain loop"),
            "over the texts one by one": ("1 thread", "one by one"),
            "the same on two threads": ("2 threads", "one by one")}
WEIGHTS = {"over attn_matmul": ("1 thread", "attn_matmul"),
           "over attn_matmul, on two threads": ("2 threads", "attn_matmul"),
           "two threads over one": ("2 threads", "one thread"),
           "over OpenBLAS": ("1 thread", "OpenBLAS")}
SCRATCH = {f"{n} thread{'s' * (n > 1)}": (f"{n} thread{'s' * (n > 1)}", "a thread") for n in (1, 2, 16)}
VERSION = re.compile(r"(one run of version )\d+\.\d+\.\d+")


def read(path):
    try:
        with open(path) as lines:
            for line in lines:
                if line.startswith("#"):
                    continue
                work, shape, of, against, unit, value, bar = line.rstrip("\n").split("\t")
                yield Figure(work, shape, of, against, unit, float(value), misses(float(value), bar))
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}; run `make bench` first")


def misses(value, bar):
    """bar: ">=" and the least, "<=" and the most, or nothing."""
    return bar != "" and (value < float(bar[2:]) if bar.startswith(">=") else value > float(bar[2:]))


def version(path):
    with open(path) as lines:
        versions = {line.split()[-1] for line in lines if line.startswith("#")}
    if len(versions) != 1:
        sys.exit(f"{path}: figures of {len(versions)} versions; run `make bench` anew")
    return versions.pop()


def is_peer(name):
    return name.startswith(("PyTorch", "ONNX Runtime", *NAMES))


def is_product(figure):
    return figure.work.startswith("x w^T")


def is_bf16_product(figure):
    return figure.work.startswith(("bf16 a", "bf16 x", "vdpbf16ps")) and not is_peer(figure.against)


def is_backward(figure):
    return figure.work.startswith("backward")


def is_weights(figure):
    return figure.work.startswith("dw +=")


# ==== The tables =====================================================================================================


def number(figure):
    """With a star if it misses its bar."""
    value, digits = (100 * figure.value, 0) if figure.unit == "%" else (figure.value, 0 if figure.unit == "KB" else 2)
    return f"{value:.{digits}f}{'*' * figure.missed}"


def joined(figures):
    """Numbers of figures of one kind, as one cell."""
    if not figures or None in figures:
        return ""
    unit = {"%": " %", "x": " x"}.get(figures[0].unit, " " + figures[0].unit)
    return " / ".join(map(number, figures)) + unit + AGAINST.get(figures[0].against, "")


def groups(works):
    """Neighbours of one work whose shapes differ in one number."""
    group, place = [works[0]], None
    for work, shape in works[1:]:
        first = group[0][1].split(" x ")
        differs = [i for i, parts in enumerate(zip(first, shape.split(" x "))) if len(set(parts)) > 1]
        if work == group[0][0] and len(differs) == 1 and place in (None, differs[0]):
            group, place = group + [(work, shape)], differs[0]
        else:
            yield group, place
            group, place = [(work, shape)], None
    yield group, place


def limits(figures, shapes="heads x keys x size"):
    """Rows of work that is measured against limits; one may have several."""
    cells = {(f.work, f.shape, f.of, f.against): f for f in figures if f.against in AGAINST}
    works = list(dict.fromkeys(key[:2] for key in cells))
    yield f"| work | {shapes} | one thread | two threads |\n|---|---|---|---|"
    for group, place in groups(works):
        shape = group[0][1].split(" x ")
        if place is not None:
            shape[place] = " / ".join(s.split(" x ")[place] for _, s in group)
        row = [group[0][0], " x ".join(shape)]
        for of in ("1 thread", "2 threads"):
            row.append(", ".join(filter(None, (joined([cells.get((*key, of, against)) for key in group])
                                               for against in AGAINST))))
        yield f"| {' | '.join(row)} |"


def others(figures):
    """Figures that are no ratios, in the columns of one thread and of two where they are of threads."""
    rows = {}
    for f in figures:
        if f.unit not in ("%", "x"):
            of = [] if f.of in ("1 thread", "2 threads") else [f.of]
            key = ", ".join(x for x in (f.work, f.against, *of) if x), f.shape
            rows.setdefault(key, ["", ""])[f.of == "2 threads"] = f"{number(f)} {f.unit}"
    for (name, shape), cells in rows.items():
        yield f"| {name} | {shape} | {' | '.join(cells)} |"


def products(figures):
    """x w^T: a row for each w, a column for each number of rows of x and what it is relative to."""
    cells = {}
    for f in figures:
        rows, w = f.shape.split(" x ", 1)
        cells.setdefault((w, f.work), {}).setdefault((int(rows), f.against), []).append(f._replace(against=""))
    if not cells:
        return
    counts = sorted({rows for row in cells.values() for rows, _ in row})
    columns = [(n, against) for against in ("reading w", "plain loop") for n in counts]
    yield "x w^T for a few rows of x in f32, on one / two threads: share of the read of w; speed over the plain loop:\n"
    yield "| w, K x N | " + " | ".join(f"{n} row{'s' * (n > 1)}, {'loop' if against == 'plain loop' else 'read'}"
                                       for n, against in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for (w, work), row in cells.items():
        yield f"| {w}, {work.split()[-2]} | " + " | ".join(joined(row.get(column)) for column in columns) + " |"
    yield ""


def of_columns(figures, columns, start, shapes, unit="x"):
    """A table with a row for each work and shape; columns: their names, and what stands there: of, against."""
    cells = {(f.work, f.shape, f.of, f.against): f for f in figures if f.unit == unit}
    if not cells:
        return
    yield f"{start}:\n"
    yield f"| work | {shapes} | {' | '.join(columns)} |"
    yield "|---|---|" + "---|" * len(columns)
    for key in dict.fromkeys(key[:2] for key in cells):
        row = [cells.get((*key, *column)) for column in columns.values()]
        yield f"| {key[0]} | {key[1]} | " + " | ".join(f"{number(f)} {unit}" if f else "" for f in row) + " |"
    yield ""


def training(figures):
    """The way back: its time, the gradients of weights, its memory."""
    back, weights = ([f for f in figures if of_work(f)] for of_work in (is_backward, is_weights))
    yield from of_columns(back, TRAINING, "attn_sdpa_backward", "items, if several, x heads x keys x size")
    yield from of_columns(weights, WEIGHTS, "attn_matmul_add, for gradients of weights", "M x tokens x N")
    yield from of_columns(back, SCRATCH, "Scratch of attn_sdpa_backward for each thread, with so many",
                          "heads x keys x size", "MiB")


def bf16_products(figures):
    if not figures:
        return
    yield "Products of bf16 with AVX512BF16:\n"
    yield from limits(figures, "M x K x N")
    yield ""


def peers(figures, start):
    """Speed relative to each peer, on one and two threads; last, the error relative to that of PyTorch."""
    figures = [f for f in figures if is_peer(f.against)]
    if not figures:
        return
    cells = {(f.work, f.shape, f.of, f.against): number(f) for f in figures}
    names = sorted(dict.fromkeys(f.against for f in figures), key=lambda name: name.startswith("error"))
    works = dict.fromkeys((f.work, f.shape) for f in figures)
    yield f"{start}:\n"
    yield "| work | heads x keys x size; of products, M x K x N | " + " | ".join(NAMES.get(n, n) for n in names) + " |"
    yield "|---|---|" + "---|" * len(names)
    for key in works:
        row = [" / ".join(cells[(*key, of, name)] for of in ("1 thread", "2 threads") if (*key, of, name) in cells)
               for name in names]
        yield f"| {key[0]} | {key[1]} | " + " | ".join(row) + " |"
    yield ""


# ==== The picture ====================================================================================================

WIDTH, HEIGHT, LEFT, TOP, PANEL, FLOOR, NEXT = 900, 400, 56, 84, 280, 340, 430


def share_of_peak(figures, works):
    """Of each contestant: [(length, share)], for heads of 64 on one thread. A peer's is ours, divided by our speed
    relative to it: two medians, that of PyTorch and ONNX Runtime from a run of its own."""
    ours = {f.shape: f.value for f in figures if f.work in works and f.against == "peak"}
    lines = {}
    for f in figures:
        if f.work not in works or f.of != "1 thread" or f.shape not in ours or not f.shape.endswith(" x 64"):
            continue
        length = int(f.shape.split(" x ")[1])
        name = "attn.h" if f.against == "peak" else f.against.replace("ONNX Runtime", "ONNX_Runtime").split()[0]
        share = f.value if f.against == "peak" else ours[f.shape] / f.value
        if name.replace("_", " ") in COLOURS and length >= 128:
            lines.setdefault(name.replace("_", " "), []).append((length, share))
    return {name: sorted(points) for name, points in lines.items()}


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{words}</text>'


def panel(left, title, lines):
    def at(length, share):
        return left + PANEL * log2(length / 128) / 5, FLOOR - (FLOOR - TOP) * share

    grey = ' font-size="12" fill="#666"'
    yield text(left, TOP - 14, title, ' font-weight="600"')
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        _, y = at(128, share)
        yield f'<path d="M{left} {y:.0f}h{PANEL}" stroke="#ddd"/>'
        yield text(left - 8, y + 4, f"{100 * share:.0f} %", ' text-anchor="end"' + grey)
    for length in (128, 256, 512, 1024, 2048, 4096):
        yield text(at(length, 0)[0], FLOOR + 20, length, ' text-anchor="middle"' + grey)
    below = TOP - 30  # each name stands beside the end of its line, at least a line of text below the one before
    for name, points in sorted(lines.items(), key=lambda line: -line[1][-1][1]):
        places = [at(*point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        colour, width = COLOURS[name], 3.5 if name == "attn.h" else 2
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        for x, y in places:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width}" fill="{colour}"/>'
        below = max(below + 17, places[-1][1] + 5)
        bold = ' font-weight="700"' if name == "attn.h" else ""
        yield text(left + PANEL + 12, below, name, f' font-size="13" fill="{colour}"{bold}')


def picture(figures):
    full, causal = share_of_peak(figures, ("prefill", "small")), share_of_peak(figures, ("causal",))
    title = "Attention on one thread: share of the peak of multiply-adds"
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'role="img" font-size="14" fill="#333" font-family="system-ui, -apple-system, \'Segoe UI\', Roboto, '
           "'Helvetica Neue', Arial, sans-serif\">")
    yield f"<title>{title}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    yield text(LEFT, 36, title, ' font-size="17" font-weight="600"')
    yield from panel(LEFT, "every key", full)
    yield from panel(LEFT + NEXT, "causal: half of the work", causal)
    yield text(WIDTH / 2, HEIGHT - 14, "number of queries and keys; f32, heads of 64; OpenBLAS and oneDNN: unfused",
               ' text-anchor="middle" font-size="13" fill="#666"')
    yield "</svg>"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    table, page, svg = sys.argv[1:]
    figures = list(read(table))
    of_training = [f for f in figures if is_backward(f) or is_weights(f)]
    figures = [f for f in figures if f not in of_training]
    of_products = [f for f in figures if is_product(f) and not is_peer(f.against)]
    if not any(f.against in AGAINST for f in figures):
        sys.exit(f"{table}: no figures; run `make bench` first")
    start, end = "<!-- tests/bench/report.py -->\n", "<!-- end of tests/bench/report.py -->"
    with open(page) as file:
        before, found, rest = file.read().partition(start)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        sys.exit(f"{page}: the two comments between which the tables stand are missing")
    link = os.path.relpath(svg, os.path.dirname(page) or ".")
    before, named = VERSION.subn(r"\g<1>" + version(table), before)
    if named != 1:
        sys.exit(f"{page}: no sentence that says what version these figures are of, or several")
    of_bf16 = [f for f in figures if is_bf16_product(f)]
    of_attention = [f for f in figures if not is_product(f) and f not in of_bf16]
    halves = {(f.work, f.shape) for f in figures if f.against.startswith("error")}
    of_halves = [f for f in figures if (f.work, f.shape) in halves]
    rows = [f"![Share of the peak over the length, beside peers]({link})", "", *limits(of_attention), *others(figures),
            "", *products(of_products), *bf16_products(of_bf16), *training(of_training),
            *peers([f for f in figures if f not in of_halves], "Speed relative to peers, on one / two threads"),
            *peers(of_halves, "The same with all arguments in bf16 or f16, and the error relative to that of PyTorch")]
    with open(page, "w") as file:
        file.write(before + start + "\n" + "\n".join(rows) + "\n" + end + after)
    with open(svg, "w") as file:
        file.write("\n".join(picture(figures)) + "\n")


main()
