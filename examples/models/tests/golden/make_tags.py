"""Writes tags.h beside itself: the ids of texts that spell user-defined pieces, as SentencePiece has them once these are
control pieces.

    python3 make_tags.py [FILE]        (sentencepiece)

The models are those beside it. test_tokenizer.c reads what is written."""
import os
import sys
import textwrap

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

here = os.path.dirname(os.path.abspath(__file__))
CONTROL, USER_DEFINED = 3, 4
CASES = [  # model, pieces that become control pieces
    ("bpe_turns", ["<start_of_turn>"]),
    ("bpe_turns", ["<start_of_turn>", "<|user|>:", "\n", "abc"]),
    ("unigram", []),
]
TEXTS = ["<start_of_turn>user\nHi!", "Who?<end_of_turn>\n<start_of_turn>model\n", "<start_of_turn><start_of_turn>>",
         "a<|user|>: <|user|>, abcd ab\n\n<start_of_turn", "New York == <start_of_turn>New York"]


def literal(text):
    return '"' + text.replace("\n", "\\n") + '"'


def cases():
    for model, names in CASES:
        path = os.path.join(here, model + ".model")
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(open(path, "rb").read())
        names = names or [piece.piece for piece in proto.pieces if piece.type == USER_DEFINED][:2]
        for piece in proto.pieces:
            if piece.piece in names:
                assert piece.type == USER_DEFINED
                piece.type = CONTROL
        pieces = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
        for text in TEXTS:
            if model == "unigram":
                text = text.replace("<start_of_turn>", names[0])
            ids = pieces.encode(text)
            assert not set(ids) & {pieces.piece_to_id(name) for name in names}
            yield model, names, text, ids


def row(model, names, text, ids):
    numbers = textwrap.fill(", ".join(map(str, ids)), 118, initial_indent="     {", subsequent_indent="      ")
    return (f'    {{"{model}", {{{", ".join(map(literal, names))}, NULL}}, {literal(text)}, {len(ids)},\n'
            f"{numbers}}}}}")


if __name__ == "__main__":
    rows = list(cases())
    most = max(len(ids) for _, _, _, ids in rows)
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "tags.h"), "w") as out:
        out.write(f"/* Written by make_tags.py with SentencePiece {sentencepiece.__version__}, for test_tokenizer.c. */\n"
                  "/* clang-format off */\n\n/* Model, pieces that are control pieces, text, ids and how many they are. */\n"
                  "static const struct {\n    const char *model, *names[5], *text;\n"
                  f"    size_t count;\n    int32_t ids[{most}];\n}} tag_goldens[] = {{\n")
        out.write(",\n".join(row(*golden) for golden in rows) + "};\n")
