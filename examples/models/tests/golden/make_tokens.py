"""Writes what the SentencePiece library makes of the lines of ../lines.h, and the models with which it does.

    python3 make_tokens.py MODELS      writes unigram.model, unigram_bytes.model, unigram_suffix.model, bpe.model,
                                       bpe_bytes.model, bpe_turns.model, tokens_*.txt and tokens.h; MODELS is a
                                       directory of four published models
    python3 make_tokens.py --lines MODEL FIRST      prints the hashes of the hundred lines from FIRST on, and their ids

It takes Python 3.11 (Unicode 14), sentencepiece 0.2.3 with protobuf, transformers 4.57.6 and a C compiler (CC).
The hash of a line is the 64-bit FNV-1a of the number of ids, the ids, each piece as size and bytes, and the text of the
ids as size and bytes; numbers are 4 bytes, the lowest first. tokens_*.txt has one hash for each hundred lines: of their
hashes, as 8 bytes each, the lowest first; tokens_bpe*.txt for one hundred of every BPE_STEP lines."""
import io
import os
import subprocess
import sys
import tempfile
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto

HERE = os.path.dirname(os.path.abspath(__file__))
MINE = ["unigram", "unigram_bytes", "unigram_suffix"]
BPE = ["bpe", "bpe_bytes", "bpe_turns"]
BPE_STEP = 1400
THEIRS = ["t5-small.spiece", "seqio_test_sentencepiece", "sp_test_model", "tftext_fast_sentencepiece"]
SPACE = "\u2581"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

# ---- the corpus: sentences of words, some rare, so that there is something to learn ----

SENTENCES = """The house is wonderful. The weather is nice today. I have seen the cat, and the cat has seen me.
Attention weights the values by how well their keys match the query. Every query attends to every key.
The translation of a sentence is a sentence again; reading and writing are the same machine run twice.
You don't need to understand every word to translate a well-known sentence into English or French or German.
New York is not a small town, and its newspapers are read in many houses. The machines of 1998 were slow.
Le temps est beau aujourd'hui. La maison est petite, mais le jardin est grand. Nous avons vu le chat noir.
L'attention pèse les valeurs selon la ressemblance des clés et de la question. Le garçon a été à l'école.
Qu'il soit français ou étranger, le cœur d'un élève bat plus vite à Noël. Où est la façade de l'hôtel?
Das Haus ist wunderbar. Das Wetter ist heute schön. Wir haben die Katzen in der Straße gesehen.
Die Übersetzung eines Satzes ist wieder ein Satz. Der Zug nach Köln fährt um 12:45 Uhr über die grüne Brücke.
Äpfel und Öl kosten heute 3,50 Euro; gestern waren es 2,99. Nicht alle Wörter sind so lang wie dieses.
e-mail: x@y.org (100% of 42 = 42) [a + b] {c} <d> "quoted" 'single' a/b a_b #1 $5 & more... 0123456789
日本語 の 世界 こんにちは 東京 カタカナ が ぱ 。、「」 你好 世界 한국어 가 각 Москва Ελλάδα سلام 😀 ❤ ½ ™""".split("\n")


def corpus():
    """Each sentence in order, and parts of it joined to parts of another."""
    words = [s.split() for s in SENTENCES]
    state = 1
    for turn in range(40):
        for n, sentence in enumerate(words):
            state = (state * 1664525 + 1013904223) % 2**32
            other = words[(state >> 16) % (len(words) - 1)]
            cut = (state >> 8) % len(sentence)
            yield " ".join(sentence if turn < 3 else sentence[cut:] + other[:cut])


# ---- rules of normalisation: some hundred, not all of NFKC ----


def rules():
    table = {}

    def rule(source, target):
        if source != target:
            table[source] = target

    # Left alone, so that it shows whether sentinels take away what Python calls space: U+000B, U+001C, U+001F, U+0085,
    # U+1680, U+200B, U+2028, U+205F.
    for c in list(range(1, 9)) + [*range(0xE, 0x1C), 0x1D, 0x1E, 0x7F, 0x8F, 0x9F, 0xAD]:
        rule(chr(c), "")
    for c in [9, 10, 12, 13, *range(0x2000, 0x200B), *range(0x200C, 0x2010), 0x2029, 0x202F, 0x3000, 0x2581, 0xFEFF,
              0xFFFD]:
        rule(chr(c), " ")
    for c in [*range(0xA0, 0x100), *range(0xFB00, 0xFB07), *range(0xFF01, 0xFFA0), *range(0x2160, 0x2170),
              *range(0x2460, 0x2474), 0x2026, 0x203C, 0x2047, 0x2049, 0x2122, 0x2126, 0x212A, 0x212B, 0x338F, 0x33C2,
              0x3300, 0x1F130, 0xFDF2, 0xFDFA, 0xFDFB, 0xFEFB, 0x1D400, 0x1D7D8, 0x2F800, 0xF900]:
        rule(chr(c), unicodedata.normalize("NFKC", chr(c)))
    marks = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0323\u0327"
    for letter in "aeiouncyAEIOUNC":
        for first in marks:
            whole = unicodedata.normalize("NFKC", letter + first)
            if len(whole) == 1:
                rule(letter + first, whole)
            for second in marks:
                both = unicodedata.normalize("NFKC", letter + first + second)
                if len(both) == 1 and letter in "aeoAEO":
                    rule(letter + first + second, both)
    for kana in "ｶｷｸｹｺﾊﾋﾌﾍﾎ":
        for mark in "ﾞﾟ":
            rule(kana + mark, unicodedata.normalize("NFKC", kana + mark))
    for lead in range(0x1100, 0x1106):
        for vowel in range(0x1161, 0x1166):
            rule(chr(lead) + chr(vowel), unicodedata.normalize("NFKC", chr(lead) + chr(vowel)))
            for tail in range(0x11A8, 0x11AA):
                text = chr(lead) + chr(vowel) + chr(tail)
                rule(text, unicodedata.normalize("NFKC", text))
    return table


def write_rules(table, name):
    with open(name, "w", encoding="ascii") as f:
        for source, target in sorted(table.items()):
            f.write("%s\t%s\n" % (" ".join("%X" % ord(c) for c in source), " ".join("%X" % ord(c) for c in target)))
    return name


# ---- models ----


def train(directory, model_type="unigram", **options):
    """A model as the library's trainer makes it, without what depends on where that happened."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(list(corpus())), model_writer=out, model_type=model_type, num_threads=1,
        shuffle_input_sentence=False, hard_vocab_limit=False, minloglevel=2, **options)
    model = proto.ModelProto.FromString(out.getvalue())
    for spec in (model.normalizer_spec, model.denormalizer_spec):
        if spec.HasField("normalization_rule_tsv"):
            spec.ClearField("normalization_rule_tsv")
    return model


def add(model, text, kind, score=0.0):
    model.pieces.add(piece=text, score=score, type=kind)


def parts_of_words(model, count):
    """More pieces, up to `count`: parts of words, many with equal scores, so that there is much to choose among."""
    known, parts = {p.piece for p in model.pieces}, ["ab", "bcd", "abcd", "<0x41>", "<s>", SPACE * 2, SPACE * 3]
    for word in sorted({word for sentence in SENTENCES for word in sentence.split()}):
        word = SPACE + word
        parts += [word[i:i + n] for n in (2, 3, 4, 5, 7) for i in range(0, len(word) - n + 1, 1 + n // 4)]
    for part in parts:
        if part not in known and len(model.pieces) < count:
            known.add(part)
            add(model, part, NORMAL, -6 - 0.25 * (sum(part.encode()) % 24))
    return model


def unigram(directory):
    """As T5: pad, eos, unk; a charsmap; spaces removed and escaped; and user-defined symbols."""
    model = train(directory, vocab_size=700, character_coverage=0.9995, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
                  normalization_rule_tsv=write_rules(rules(), os.path.join(directory, "rules.tsv")))
    for symbol in ["<sep>", "<sep>>", "New York", SPACE + "Zug" + SPACE, "①", "ﬁre", " x", "==", "====", "abc", "cd"]:
        add(model, symbol, USER_DEFINED)
    return parts_of_words(model, 1000)


def unigram_bytes(directory):
    """Bytes stand for what no piece spells; no charsmap; spaces are kept, one before the text."""
    model = train(directory, vocab_size=650, character_coverage=0.99, normalization_rule_name="identity",
                  byte_fallback=True, remove_extra_whitespaces=False, unk_surface=" (unknown) ")
    for symbol in ["<|user|>", "<|user|>:", "<|system_message|>", "\n", SPACE * 2, SPACE * 4, "\t\t", "e\u0301"]:
        add(model, symbol, USER_DEFINED)
    return parts_of_words(model, 900)


def unigram_suffix(directory):
    """Spaces end words, and are not escaped; some pieces are unused, some scores equal; decoded text is rewritten."""
    tsv = write_rules({"a": "A", "tion": "TION", "ß": "ss", "  ": " ", "...": "\u2026", "é": "e\u0301", "(": ""},
                      os.path.join(directory, "back.tsv"))
    model = train(directory, vocab_size=300, character_coverage=0.98, normalization_rule_name="identity",
                  treat_whitespace_as_suffix=True, remove_extra_whitespaces=False, denormalization_rule_tsv=tsv)
    model.normalizer_spec.escape_whitespaces = False
    for n, piece in enumerate(model.pieces):
        if piece.type == NORMAL:
            if n % 5:
                piece.piece = piece.piece.replace(SPACE, " ")
            if n % 7 == 3 and piece.piece != " ":
                piece.type = UNUSED
            piece.score = round(piece.score)
    add(model, "<mask>", CONTROL)
    add(model, "x ", USER_DEFINED)
    add(model, "New York", USER_DEFINED)
    add(model, "house is", NORMAL, -9)
    add(model, "he" + SPACE + "is" + SPACE, NORMAL, -8)
    return model


def unused(model, every):
    """The same with some of the pieces that merges make out of use: they are merged, and split at the end."""
    for n, piece in enumerate(model.pieces):
        if piece.type == NORMAL and len(piece.piece) > 1 and n % every == 3:
            piece.type = UNUSED
    return model


def bpe(directory):
    """A charsmap; spaces removed; scores that are often equal, and pieces out of use."""
    model = train(directory, model_type="bpe", vocab_size=700, character_coverage=0.9995, unk_surface=" ?? ",
                  normalization_rule_tsv=write_rules(rules(), os.path.join(directory, "rules.tsv")))
    for piece in model.pieces:
        if piece.type == NORMAL:
            piece.score = piece.score // 8
    return unused(model, 5)


def bpe_bytes(directory):
    """As Llama 2: bytes stand for what no piece spells; spaces are kept, one before the text; pieces hold spaces."""
    model = train(directory, model_type="bpe", vocab_size=800, character_coverage=0.99, byte_fallback=True,
                  normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
                  allow_whitespace_only_pieces=True, split_by_whitespace=False)
    for n, text in enumerate([SPACE * 2, SPACE * 4, SPACE * 8, SPACE * 3]):
        if text not in {p.piece for p in model.pieces}:
            add(model, text, NORMAL, -2.5 - n)
    return model


def bpe_turns(directory):
    """As Gemma: no space before the text, and user-defined symbols, which end where others begin."""
    symbols = ["<start_of_turn>", "<|user|>", "<|user|>:", "<|system_message|>", "New" + SPACE + "York", "ab", "abc",
               "cd", "\n", "\t\t", SPACE * 2, SPACE * 4, "==", "e\u0301", "①"]
    model = train(directory, model_type="bpe", vocab_size=600, character_coverage=0.99, byte_fallback=True,
                  normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False,
                  user_defined_symbols=symbols, control_symbols=["x", "the"])
    return unused(model, 7)


# ---- what the library makes of texts ----


def fnv(data, state=0xCBF29CE484222325):
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def number(n):
    return n.to_bytes(4, "little")


def measured(text):
    return number(len(text)) + text


def encoded(processor, line):
    ids = processor.Encode(line, return_type=int)
    pieces = processor.Encode(line, return_type=bytes)
    text = processor.Decode(ids, return_type=bytes) if ids else b""
    assert all(isinstance(p, bytes) for p in pieces) and isinstance(text, bytes) and len(ids) == len(pieces)
    return b"".join([number(len(ids))] + [number(i) for i in ids] + [measured(p) for p in pieces] + [measured(text)])


def open_model(serialized):
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(serialized)
    return processor


def valid(line):
    try:
        line.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def check_bytes_arrive(processor, lines):
    """The library sees every byte: a model that spells everything gives valid lines back, and other ones changed."""
    same = 0
    for line in lines:
        if line and SPACE.encode() not in line:
            text = processor.Decode(processor.Encode(line), return_type=bytes)
            assert (text == line) == valid(line), (line, text)
            same += text == line
    print(same, "lines come back from bytes")


def flagged(serialized, dummy, remove, escape, suffix):
    """The same model with other flags: a later value of a field replaces an earlier one, also in an inner message."""
    return (serialized + bytes([0x1A, 6, 3 << 3, dummy, 4 << 3, remove, 5 << 3, escape]) +
            bytes([0x12, 3, 0xC0, 1, suffix]))


# ---- sentinels ----

SENTINELS = [
    "<extra_id_0>", "The <extra_id_0> walks in <extra_id_1> park", "<extra_id_0> at the start",
    "at the end <extra_id_0>", "no<extra_id_3>space", "left <extra_id_3>right", "left<extra_id_3> right",
    "<extra_id_0><extra_id_1>", "<extra_id_1> <extra_id_0>", "  <extra_id_2>  ", "a  <extra_id_2>  b",
    "a\t<extra_id_2>\nb", "<extra_id_99>", "<extra_id_100>", "<extra_id_05>", "<extra_id_5", "<extra_id_5>>",
    "<<extra_id_5>", "<extra_id_<extra_id_5>", "<extra_id_>", "<extra_id_-1>", "<extra_id_ 5>", "<extra_id_10>",
    "<extra_id_1>0>", "<Extra_id_1>", "<extra_id_00>", "x\u00a0<extra_id_4>\u00a0y", "x\u3000<extra_id_4>\u3000y",
    "x\u2003\u2009<extra_id_4>\u2028\u2029y", "x\u200b<extra_id_4>\u200by", "x\ufeff<extra_id_4>\ufeffy",
    "x\u1680<extra_id_4>\u205f\u202fy", "x\u180e<extra_id_4>\u180ey", "x\x1c\x1d<extra_id_4>\x1e\x1fy",
    "x\x85<extra_id_4>\x0b\x0cy", "\x1c<extra_id_4>", "x\x1f", "\u1680x<extra_id_4>x\u205f",
    "x\u2581<extra_id_4>\u2581y", "x\x00<extra_id_4>\x00y", "x\x1b <extra_id_4> \x1by", "\u3000<extra_id_4>",
    "<extra_id_4>\x1f", "<extra_id_4>\x85<extra_id_5>", "\u2581<extra_id_4>\u2581",
    "été <extra_id_17> d'abord <extra_id_18>, <extra_id_19>.", "e<extra_id_8>\u0301", "ab<extra_id_8>c",
    "=<extra_id_8>=", "<sep><extra_id_8>>", "New <extra_id_8> York", "<extra_id_8> x<extra_id_8> x",
    "你好<extra_id_8>😀😀<extra_id_9>", "", " ", "no sentinel at all",
    "<extra_id_0> <extra_id_1>  <extra_id_2>\u3000<extra_id_3>", "<extra_id_12345>", "＜extra_id_0＞",
    "<extra_id_0>\u0301", "<extra_id_\u0660>", "<extra_id_1\x00>", " . <extra_id_61> . ",
]


def sentinels(name):
    from transformers import T5Tokenizer
    tokenizer = T5Tokenizer(name, legacy=True, extra_ids=100)
    for text in SENTINELS:
        yield text.encode(), tokenizer(text, add_special_tokens=False).input_ids


def quoted(text):
    plain = lambda c: 32 <= c < 127 and c not in b'"\\?'
    return '"%s"' % "".join(chr(c) if plain(c) else "\\%03o" % c for c in text)


# ---- the files ----

PRINTER = r"""
#include "lines.h"
#include <stdio.h>
#include <stdlib.h>

static void number(size_t n)
{
    for (int i = 0; i < 4; i++, n >>= 8)
        putchar((int)(n & 255));
}

int main(int argc, char **argv)
{
    static char text[LINE_BYTES];
    int32_t ids[LINE_IDS];
    if (argc < 2)
        for (size_t i = 0; i < LINE_COUNT; i++) {
            size_t size = generate_line(i, text);
            number(size);
            fwrite(text, 1, size, stdout);
        }
    else
        for (size_t i = 0; i < LINE_ID_COUNT; i++) {
            size_t count = generate_ids(i, atoi(argv[1]), ids);
            number(count);
            for (size_t k = 0; k < count; k++)
                number((size_t)ids[k]);
        }
    return 0;
}
"""


def printed(directory):
    """The generator of lines.h as a program: returns a function that runs it and gives its output."""
    source, program = os.path.join(directory, "print.c"), os.path.join(directory, "print")
    with open(source, "w") as f:
        f.write(PRINTER)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-I" + os.path.dirname(HERE), "-o", program, source], check=True)
    return lambda *arguments: io.BytesIO(subprocess.check_output([program, *arguments]))


def read_number(f):
    data = f.read(4)
    return int.from_bytes(data, "little") if len(data) == 4 else None


def all_lines(run):
    output, lines = run(), []
    while (size := read_number(output)) is not None:
        lines.append(output.read(size))
    assert len(lines) == 10000
    return lines


def main(models):
    with tempfile.TemporaryDirectory() as directory:
        run = printed(directory)
        lines, made = all_lines(run), {}
        for make in (unigram, unigram_bytes, unigram_suffix, bpe, bpe_bytes, bpe_turns):
            made[make.__name__] = make(directory).SerializeToString(deterministic=True)
            with open(os.path.join(HERE, make.__name__ + ".model"), "wb") as f:
                f.write(made[make.__name__])
        check_bytes_arrive(open_model(made["unigram_bytes"]), lines)
        check_bytes_arrive(open_model(made["bpe_bytes"]), lines)
        write_results(models, made, lines, run)


def show_lines(path, first):
    with tempfile.TemporaryDirectory() as directory, open(path, "rb") as f:
        processor, lines = open_model(f.read()), all_lines(printed(directory))
        for i in range(first, first + 100):
            print(i, "%016x" % fnv(encoded(processor, lines[i])), *processor.Encode(lines[i], return_type=int)[:60])


def write_hashes(name, processor, lines, step):
    with open(os.path.join(HERE, "tokens_%s.txt" % name), "w") as f:
        for i in range(0, len(lines), step):
            hashes = [fnv(encoded(processor, line)) for line in lines[i:i + 100]]
            f.write("%016x\n" % fnv(b"".join(n.to_bytes(8, "little") for n in hashes)))


def write_results(models, made, lines, run):
    for name in BPE:
        write_hashes(name, open_model(made[name]), lines, BPE_STEP)
    out = ["/* Written by make_tokens.py with SentencePiece %s and its model files. */" % sentencepiece.__version__]
    out += ["", "/* Every 20th of the first 9860 lines, which are short, through a model whose flags are changed. */",
            "static const struct {",
            "    const char *model;",
            "    unsigned char add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, space_at_end;",
            "    uint64_t hash;",
            "} golden_flags[] = {"]
    for name in MINE:
        for bits in range(16):
            flags = [bits >> i & 1 for i in range(4)]
            processor, state = open_model(flagged(made[name], *flags)), fnv(b"")
            for line in lines[:9860:20]:
                state = fnv(encoded(processor, line), state)
            out.append('    {"%s", %d, %d, %d, %d, 0x%016x},' % (name, *flags, state))
    out += ["};", "", "/* The text of the sequences of ids: its size and bytes. */",
            "static const struct {", "    const char *model;", "    int32_t count;", "    uint64_t hash;",
            "} golden_ids[] = {"]

    for name in MINE + THEIRS:
        serialized = made.get(name)
        if serialized is None:
            with open(os.path.join(models, name + ".model"), "rb") as f:
                serialized = f.read()
        processor = open_model(serialized)
        write_hashes(name, processor, lines, 100)
        output, state = run(str(processor.GetPieceSize())), fnv(b"")
        for _ in range(1000):
            ids = [read_number(output) for _ in range(read_number(output))]
            state = fnv(measured(processor.Decode(ids, return_type=bytes) if ids else b""), state)
        out.append('    {"%s", %d, 0x%016x},' % (name, processor.GetPieceSize(), state))
        print(name, processor.GetPieceSize(), "pieces")

    out += ["};", "", "/* T5Tokenizer of transformers (legacy, 100 sentinels) over unigram.model. */",
            "static const struct {", "    const char *text;", "    size_t size;", "    int32_t ids[40];",
            "    size_t count;", "} golden_sentinels[] = {"]
    for text, ids in sentinels(os.path.join(HERE, "unigram.model")):
        parts = "{%s, %d," % (quoted(text), len(text)), "{%s}, %d}," % (", ".join(map(str, ids)) or "0", len(ids))
        out.append("    " + ("" if sum(map(len, parts)) > 115 else " ").join(parts).replace(",{", ",\n     {"))
    with open(os.path.join(HERE, "tokens.h"), "w") as f:
        f.write("\n".join(out + ["};", ""]))


if sys.argv[1] == "--lines":
    show_lines(sys.argv[2], int(sys.argv[3]))
else:
    main(sys.argv[1])
