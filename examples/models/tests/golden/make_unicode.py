"""Writes ../../unicode_tables.h, the tables of unicode.c, and unicode.h, hashes for their tests: python3 make_unicode.py

What published tokenizers do is what the Rust package `tokenizers` does, and its parts know different versions of Unicode:
categories are those of its regular expressions, lower case that of Rust, normal forms and marks those of its normaliser,
and BERT's normaliser has categories of its own. So the tables are asked of the package, code point by code point, and
Python's `unicodedata` is only asked whether they agree where both know a code point."""
import os
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No P S Z Cc Cf Co Cn".split()  # the bits of unicode.h, in this order
EVEN_UPPER, ODD_UPPER = 18, 19  # runs of Lu and Ll by turns
SYLLABLES = range(0xAC00, 0xAC00 + 11172)  # of Hangul: unicode.c computes them


def matched(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    return {c for c in CODES if not split.pre_tokenize_str(chr(c))}


def changed(normalizer, codes=CODES):
    """Each code point that it changes alone, and to what."""
    results = ((c, normalizer.normalize_str(chr(c))) for c in codes)
    return {c: [ord(x) for x in text] for c, text in results if text != chr(c)}


# ---- what the package says ----

def categories():
    table = [CATEGORIES.index("Cn")] * 0x110000
    for i, name in enumerate(CATEGORIES[:-1]):
        for c in matched(r"\p{%s}" % name):
            assert CATEGORIES[table[c]] == "Cn"
            table[c] = i
    for name in "LMN":
        assert matched(r"\p{%s}" % name) == {c for c in CODES if CATEGORIES[table[c]][0] == name}
    for c in CODES:
        theirs = unicodedata.category(chr(c))
        if theirs != "Cn" and not theirs.startswith(CATEGORIES[table[c]]):
            print("U+%04X was %s and is %s" % (c, theirs, CATEGORIES[table[c]]))
    return table


def combining(normalizer):
    """Canonical combining classes: the order in which two marks leave the normaliser tells which is less."""
    def swaps(a, b):
        return normalizer.normalize_str("a" + a + b) != "a" + a + b

    moving = [c for c in sorted(set(CODES) - set(changed(normalizer)))
              if swaps("\u0345", chr(c)) or swaps(chr(c), "\u0334")]
    heads, table = {unicodedata.combining(chr(c)): chr(c) for c in reversed(moving)}, {}
    for c in moving:
        table[c], = [k for k, head in heads.items() if not swaps(head, chr(c)) and not swaps(chr(c), head)]
    return table


def pairs(canonical, composed):
    """The pairs that compose, from the code points that the composed form keeps and the decomposed form does not."""
    result = {}
    for c, parts in canonical.items():
        if c not in composed:
            first = normalizers.NFC().normalize_str("".join(map(chr, parts[:-1])))
            assert len(first) == 1 and normalizers.NFC().normalize_str(first + chr(parts[-1])) == chr(c)
            result[ord(first), parts[-1]] = c
    return result


def bert_sets():
    """The code points that BERT's normaliser takes for nonspacing marks, for punctuation and for control characters."""
    names = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    cleaned = changed(normalizers.BertNormalizer(**{**names, "clean_text": True}))
    gone = {c for c, parts in cleaned.items() if not parts} - {0, 0xFFFD}
    spaces = {c for c, parts in cleaned.items() if parts == [32]}
    marks = {c for c, parts in changed(normalizers.BertNormalizer(**{**names, "strip_accents": True})).items()
             if not parts}
    split = pre_tokenizers.BertPreTokenizer()
    points = {c for c in CODES if len(split.pre_tokenize_str("a%sa" % chr(c))) == 3}
    assert not marks & points and not gone & marks and not gone & points
    assert spaces == (matched(r"\s") | {9, 10, 13}) - {32, 11, 12, 0x85}, spaces
    return marks, points, gone | {0, 9, 10, 13}


def bert(table, marks, points, control):
    """Where a category of BERT's, as far as it asks, is another one: code points and that category."""
    result = {}
    for c in CODES:
        kind = CATEGORIES[table[c]]
        kind = kind if kind in ("Mn", "P") else "C" if kind in ("Cc", "Cf", "Co") else ""
        theirs = "Mn" if c in marks else "P" if c in points else "C" if c in control else ""
        if c < 128:  # every ASCII symbol is punctuation to BERT: wordpiece.c says so
            assert (c in points) == (CATEGORIES[table[c]] in ("P", "S"))
        elif kind != theirs:
            result[c] = CATEGORIES.index({"C": "Cf", "": "Cn"}.get(theirs, theirs))
    return result


def accents(table, gone):
    """Where StripAccents sees a mark and the categories none, or the other way round."""
    return {c: CATEGORIES.index("Mn" if c in gone else "Cn") for c in CODES
            if (c in gone) != (CATEGORIES[table[c]][0] == "M")}


# ---- tables ----

def category_runs(table):
    """Pairs of a first code point and the category from there on."""
    runs, c = [], 0
    while c < 0x110000:
        end = c
        while end < 0x110000 and table[end] == table[c]:
            end += 1
        turn = c
        while turn < 0x10FFFF and {table[turn], table[turn + 1]} == {0, 1}:
            turn += 1
        if turn - c >= 3:
            runs.append((c, EVEN_UPPER if (table[c] == 0) == (c % 2 == 0) else ODD_UPPER))
            end = turn + 1
        else:
            runs.append((c, table[c]))
        c = end
    for (first, value), (stop, _) in zip(runs, runs[1:] + [(0x110000, 0)]):
        for c in range(first, stop):
            assert table[c] == (value if value < 18 else (c & 1) ^ (value & 1)), hex(c)
    return runs


def value_runs(table):
    """The same of a sparse table: 0 where it has nothing."""
    runs = [(0, 0)]
    for c in range(0x110000):
        if table.get(c, 0) != runs[-1][1]:
            runs.append((c, table.get(c, 0)))
    return runs


def lower_runs(table):
    """First code point, how many, every how manieth, difference."""
    runs = []
    for c in sorted(table):
        delta, = [x - c for x in table[c]]
        last = runs[-1] if runs else [0, 0, 0, 0]
        step = c - last[0] - last[1] + 1
        if last[3] == delta and (last[1] == 1 and step in (1, 2) or step == last[2]):
            last[1], last[2] = c - last[0] + 1, step
        else:
            runs.append([c, 1, 1, delta])
    return runs


def mappings(table, pool):
    """First code point, how many, length of each result (0: one code point, which goes up by one), where it begins."""
    codes, runs, i = sorted(table), [], 0
    while i < len(codes):
        def following(goes_on):
            n = 1
            while i + n < len(codes) and codes[i + n] == codes[i] + n and goes_on(i + n):
                n += 1
            return n
        up = following(lambda k: table[codes[k]] == [table[codes[k - 1]][-1] + 1] and len(table[codes[k - 1]]) == 1)
        size = len(table[codes[i]])
        if up >= 3:
            runs.append((codes[i], up, 0, len(pool)))
            pool += table[codes[i]]
            i += up
            continue
        n = following(lambda k: len(table[codes[k]]) == size and not (
            size == 1 and k + 2 < len(codes) and codes[k + 2] == codes[k] + 2
            and all(table[codes[k + d]] == [table[codes[k]][0] + d] for d in (1, 2))))
        runs.append((codes[i], n, size, len(pool)))
        for k in range(i, i + n):
            pool += table[codes[k]]
        i += n
    return runs


def written(name, kind, rows):
    lines, line = [], "   "
    for row in rows:
        item = " %s," % (row if isinstance(row, str) else "{%s}" % ", ".join(map(str, row)))
        if len(line + item) > 120:
            lines.append(line)
            line = "   "
        line += item
    return ["", "static const %s %s[] = {" % (kind, name), *lines, line, "};"]


# ---- what the tests know: hashes (64-bit FNV-1a) of what the package says ----

FORMS = [normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()]


def fnv(data, state=0xCBF29CE484222325):
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def said(text):
    """Bytes, and how many they are."""
    data = text.encode()
    return len(data).to_bytes(4, "little") + data


def block_hashes(table, lower, spaces, marks, points, control, accents):
    """For each 4096 code points, of everything that is known of each alone."""
    forms = [changed(form) for form in FORMS]
    for block in range(0x110000 >> 12):
        state = fnv(b"")
        for c in range(block << 12, block + 1 << 12):
            if not 0xD800 <= c < 0xE000:
                flags = [c in s for s in (spaces, marks, points if c >= 128 else (), control, accents)]
                data = bytes([table[c], *flags])
                for changes in (lower, *forms):
                    data += said("".join(map(chr, changes.get(c, [c]))))
                state = fnv(data, state)
        yield state


def interesting(canonical, compatible, marks, composing):
    """Some hundred code points whose strings have normal forms that are not those of their characters."""
    by_class = {k: [c for c in sorted(marks) if marks[c] == k] for k in set(marks.values())}
    chosen = {c for codes in by_class.values() for c in codes[:2]}
    chosen.update({c for pair in list(sorted(composing))[::23] for c in pair}, sorted(canonical)[::37],
                  sorted(compatible)[::97], *(pair for pair in composing if pair[1] not in marks))
    return sorted(chosen | {0x20, 0x61, 0x41, 0x1100, 0x1112, 0x1113, 0x1161, 0x1175, 0x1176, 0x11A7, 0x11A8, 0x11C2,
                            0x11C3, 0xAC00, 0xAC01, 0xD7A3, 0xD788, 0xF73, 0x344, 0x1E9B, 0x323, 0x307, 0xFDFA, 0x10FFFF})


def string_hashes(codes):
    """For each form, of 4000 strings of these."""
    for form in FORMS:
        state, result = 1, fnv(b"")
        for _ in range(4000):
            text = ""
            state = (state * 1664525 + 1013904223) % 2**32
            for _ in range(1 + (state >> 16) % 12):
                state = (state * 1664525 + 1013904223) % 2**32
                text += chr(codes[(state >> 8) % len(codes)])
            result = fnv(said(form.normalize_str(text)), result)
        yield result


def main():
    table = categories()
    lower, sets, spaces = changed(normalizers.Lowercase()), bert_sets(), matched(r"\s")
    accent = {c for c, parts in changed(normalizers.StripAccents()).items() if not parts}
    blocks = list(block_hashes(table, lower, spaces, *sets, accent))
    assert lower.pop(0x130) == [0x69, 0x307] and all(len(parts) == 1 for parts in lower.values())
    assert spaces == {9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
                      0x205F, 0x3000}
    canonical, compatible = changed(normalizers.NFD()), changed(normalizers.NFKD())
    marks, composed = combining(normalizers.NFD()), changed(normalizers.NFC())
    composing = pairs(canonical, composed)
    for c in SYLLABLES:
        del canonical[c], compatible[c], composing[divide(c)]
    compatible = {c: parts for c, parts in compatible.items() if parts != canonical.get(c)}
    assert max(map(len, compatible.values())) == 18 and min(compatible) == 0xA0 and min(canonical) == 0xC0
    assert min(marks) == 0x300 and min(b for _, b in composing) == 0x300

    runs, pool = category_runs(table), []
    pages = [max(i for i, run in enumerate(runs) if run[0] <= page << 8) for page in range(0x201)]
    packed = lambda rows: ["0x%x" % (c << 8 | value) for c, value in rows]
    out = ["/* Written by make_unicode.py out of the Python package tokenizers %s: categories of its patterns, lower"
           % tokenizers.__version__,
           "   case of Rust, normal forms of its normaliser. unicode.c says how the tables are read. */"]
    out += written("category_runs", "uint32_t", packed(runs)) + written("category_pages", "uint16_t", map(str, pages))
    out += written("bert_runs", "uint32_t", packed(value_runs(bert(table, *sets))))
    out += written("accent_runs", "uint32_t", packed(value_runs(accents(table, accent))))
    out += written("lower_runs", "lower_run", lower_runs(lower))
    out += written("combining_runs", "uint32_t", packed(value_runs(marks)))
    out += written("canonical", "mapping", mappings(canonical, pool))
    out += written("compatible", "mapping", mappings(compatible, pool))
    out += written("pool", "uint32_t", map(str, pool))
    out += written("compositions", "composition", [(a, b, c) for (a, b), c in sorted(composing.items())])
    with open(os.path.join(HERE, "..", "..", "unicode_tables.h"), "w") as f:
        f.write("\n".join(out) + "\n")

    codes = interesting(canonical, compatible, marks, composing)
    out = ["/* Written by make_unicode.py out of the Python package tokenizers %s: hashes of what it says. */" %
           tokenizers.__version__]
    out += written("golden_blocks", "uint64_t", map("0x%016x".__mod__, blocks))
    out += written("golden_codes", "uint32_t", map("0x%x".__mod__, codes))
    out += written("golden_strings", "uint64_t", map("0x%016x".__mod__, string_hashes(codes)))
    with open(os.path.join(HERE, "unicode.h"), "w") as f:
        f.write("\n".join(out) + "\n")


def divide(c):
    """The pair that a syllable of Hangul is composed of."""
    leading, vowel, trailing = (c - 0xAC00) // 588, (c - 0xAC00) // 28 % 21, (c - 0xAC00) % 28
    return (c - trailing, 0x11A7 + trailing) if trailing else (0x1100 + leading, 0x1161 + vowel)


if __name__ == "__main__":
    sys.exit(main())
