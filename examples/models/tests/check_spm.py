"""Whether tokenize gives the SentencePiece library's ids, on lines that tokenizers get wrong, and its text for them.

    python3 examples/models/tests/check_spm.py build/tokenize [--lines N] [--vocabs DIRECTORY] [MODEL...]

Trains models in a temporary directory, of each kind and with every option that matters at encoding (a minute), and
compares all lines (20,000) under each of them and under each MODEL: lines of hostile.py, with line breaks, of which
every twentieth is made invalid UTF-8. --vocabs: a directory with llama.cpp's ggml-vocab-*.gguf. Those that come from
SentencePiece are made models of again, compared likewise, and compared with the .out that is beside a .gguf and .inp.

Needs sentencepiece 0.2.3 with protobuf; gguf for --vocabs. Exit status 1 if something differs."""
import argparse
import glob
import io
import os
import random
import subprocess
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto

import hostile

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE = 1, 2
SPACE = "\u2581"
DECODED = 40   # of the lines of a model, whose ids are turned into text

# ---- models ----

TURNS = ["<start_of_turn>", "<end_of_turn>", "<mask>", "[INST]", "\n", "\n\n", "\t", SPACE * 2, SPACE * 4, "<h1>",
         "a" + SPACE]

MODELS = {
    "bpe as Llama's": dict(
        model_type="bpe", normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False,
        split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.98),
    "bpe as Gemma's": dict(
        model_type="bpe", normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False,
        add_dummy_prefix=False, split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.98,
        user_defined_symbols=TURNS, control_symbols=["<bos>", "e", "<0x4"]),
    "bpe": dict(model_type="bpe", character_coverage=0.98),
    "bpe, spaces at the end": dict(
        model_type="bpe", normalization_rule_name="nmt_nfkc_cf", treat_whitespace_as_suffix=True, byte_fallback=True,
        character_coverage=0.98),
    "bpe across words": dict(
        model_type="bpe", normalization_rule_name="nfkc", split_by_whitespace=False, split_by_unicode_script=False,
        split_by_number=False, remove_extra_whitespaces=False, character_coverage=0.98),
    "unigram": dict(model_type="unigram", character_coverage=0.98),
    "unigram with bytes": dict(
        model_type="unigram", normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False,
        add_dummy_prefix=False, user_defined_symbols=TURNS, character_coverage=0.98),
    "words": dict(model_type="word", character_coverage=0.98),
    "characters": dict(model_type="char", character_coverage=0.98, user_defined_symbols=TURNS),
}


def words(seed):
    """Sentences of made-up words, the more seldom the longer the list of them."""
    r = random.Random(seed)
    syllables = [a + b for a in "b c d f g h k l m n p r s t v w st tr ch é д к м 日 本 한".split() for b in "aeiouäоа"]
    known = ["".join(r.choice(syllables) for _ in range(r.randint(1, 4))) for _ in range(4000)]
    for _ in range(6000):
        yield " ".join(known[min(int(r.paretovariate(0.6)), len(known)) - 1] for _ in range(r.randint(3, 20)))


def trained(options, seed):
    out = io.BytesIO()
    texts = list(words(seed)) + [line for line in hostile.lines(500, seed)]
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(texts), model_writer=out, vocab_size=4000, num_threads=1, hard_vocab_limit=False,
        shuffle_input_sentence=False, minloglevel=2, max_sentence_length=4000, **options)
    return proto.ModelProto.FromString(out.getvalue())


def changed(model):
    """The same with every ninth piece out of use, scores that are often equal, and spaces not escaped."""
    for n, piece in enumerate(model.pieces):
        if piece.type == NORMAL:
            piece.score = piece.score // 50
            piece.type = UNUSED if n % 9 == 4 else NORMAL
    return model


def own_models():
    for seed, (name, options) in enumerate(MODELS.items()):
        model = trained(options, seed)
        yield name, model
        if options["model_type"] in ("bpe", "char"):
            yield name + ", pieces out of use", changed(model)
    model.normalizer_spec.escape_whitespaces = False
    yield "characters, spaces as they are", model


def from_gguf(path):
    """The SentencePiece model that a vocabulary was, or None."""
    import gguf
    fields = gguf.GGUFReader(path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else None
    kind, model = get("model"), proto.ModelProto()
    if kind not in ("llama", "gemma4", "t5"):
        return None
    texts = [bytes(fields["tokenizer.ggml.tokens"].parts[i]) for i in fields["tokenizer.ggml.tokens"].data]
    types, scores = get("token_type"), get("scores")
    model.trainer_spec.model_type = UNIGRAM if kind == "t5" else BPE
    model.trainer_spec.byte_fallback = BYTE in types
    model.normalizer_spec.add_dummy_prefix = kind != "gemma4"
    model.normalizer_spec.remove_extra_whitespaces = kind == "t5"
    model.normalizer_spec.precompiled_charsmap = bytes(get("precompiled_charsmap") or b"")
    if kind == "gemma4":  # it has no scores, but its merges are in their order
        ranks = {}
        for rank, merge in enumerate(get("merges")):
            ranks.setdefault("".join(merge.split(" ")).encode(), rank)
        scores = [-float(ranks.get(text, 1000000)) for text in texts]
    unknown = 0
    for text, kind, score in zip(texts, types, scores):
        unknown += kind == UNKNOWN  # what fills a vocabulary up has that type too
        model.pieces.add(piece=text.decode(), score=score, type=UNUSED if kind == UNKNOWN and unknown > 1 else kind)
    return model


# ---- lines ----

BROKEN = [b"", b"\xff", b"\xc3", b"\xe2\x96", b"\xed\xa0\x80", b"\x80"]


def hostile_lines(count):
    """Bytes; some are made invalid."""
    r, lines = random.Random(count), []
    for text in hostile.lines(count, 20260, breaks=True):
        line = bytearray(text.encode())
        if len(lines) % 20 == 7:
            for _ in range(r.randint(1, 4)):
                at = r.randint(0, len(line))
                line[at:at + r.choice([0, 1, 1, 2])] = r.choice(BROKEN)
        lines.append(bytes(line))
    return lines


# ---- the program's answers ----


def escaped(line):
    return line.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") + b"\n"


def ids_of(program, path, lines):
    run = subprocess.run([program, "--ids", "--escapes", "--extra-ids", "0", path], input=b"".join(map(escaped, lines)),
                         stdout=subprocess.PIPE, check=True)
    ids = [[int(i) for i in line.split()] for line in run.stdout.decode().split("\n")[:-1]]
    assert len(ids) == len(lines), (len(ids), len(lines))
    return ids


def shown(text):
    """As tokenize shows text: control characters as \\xNN."""
    out = []
    for c in text.decode():
        out.append("".join("\\x%02x" % b for b in c.encode()) if c < " " or "\x7f" <= c <= "\x9f" else c)
    return "".join(out).encode()


def decodes(program, path, processor, ids):
    run = subprocess.run([program, "--decode", "--extra-ids", "0", path, *map(str, ids)], stdout=subprocess.PIPE,
                         check=True)
    return run.stdout == shown(processor.Decode(ids, return_type=bytes)) + b"\n"


# ---- comparisons ----


def compared(program, name, path, lines):
    """How many lines differ, of those whose ids and of those whose text was compared."""
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    wrong, tokens = 0, 0
    for line, ids in zip(lines, ids_of(program, path, lines)):
        want = processor.Encode(line, return_type=int)
        tokens += len(ids)
        if ids != want:
            wrong += 1
            if wrong <= 3:
                print("   ", line, "\n   ", ids, "\n    want", want)
    texts = [ids for ids in ids_of(program, path, lines[::len(lines) // DECODED or 1]) if ids]
    unlike = sum(not decodes(program, path, processor, ids) for ids in texts)
    print("%s: %d pieces, %d lines, %d tokens; %d lines differ, and %d of %d texts" %
          (name, processor.GetPieceSize(), len(lines), tokens, wrong, unlike, len(texts)), flush=True)
    return wrong + unlike


def compared_with_out(program, name, path, vocabulary):
    """How many texts of the .inp have other ids than the .out says."""
    with open(vocabulary + ".inp", "rb") as f:
        texts = f.read().split(b"\n__ggml_vocab_test__\n")
    with open(vocabulary + ".out") as f:
        wants = [[int(i) for i in line.split()] for line in f.read().split("\n")]
    texts = [text[:-1] if n == len(texts) - 1 and text.endswith(b"\n") else text for n, text in enumerate(texts)]
    wrong = 0
    for text, ids, want in zip(texts, ids_of(program, path, texts), wants):
        if ids != want:
            wrong += 1
            print("   ", text, "\n   ", ids, "\n    want", want)
    print("%s: %d of llama.cpp's %d texts differ" % (name, wrong, len(texts)))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--vocabs")
    options = parser.parse_intermixed_args()
    lines, wrong = hostile_lines(options.lines), 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "some.model")

        def written(model):
            with open(path, "wb") as f:
                f.write(model.SerializeToString())
            return path

        for vocabulary in sorted(glob.glob(os.path.join(options.vocabs, "*.gguf"))) if options.vocabs else []:
            model, name = from_gguf(vocabulary), os.path.basename(vocabulary)
            if model:
                wrong += compared(options.program, name, written(model), lines)
                if os.path.exists(vocabulary + ".out"):
                    wrong += compared_with_out(options.program, name, path, vocabulary)
        for name in options.models:
            wrong += compared(options.program, os.path.basename(name), name, lines)
        for name, model in own_models():
            wrong += compared(options.program, name, written(model), lines)
    print("%d differ" % wrong if wrong else "nothing differs")
    return wrong > 0


sys.exit(main())
