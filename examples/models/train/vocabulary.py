"""Makes the vocabulary of the model in ../model from its corpus: what train.c cannot do.

    build/grammar --corpus | python3 vocabulary.py spiece.model

It takes sentencepiece, whose trainer this is, and protobuf. The committed file was made so, once."""
import io
import os
import re
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

PREFIX = "translate English to French: "
PIECES = 900
PAD, EOS = 0, 1


def rules():
    """What is rewritten before a text is cut, a line each of code points, a tab, code points: accents become part of
    their letters, other apostrophes ', other spaces and ends of lines a space."""
    composed = {0x300: ("aeu", "àèù"), 0x301: ("e", "é"), 0x302: ("aeiou", "âêîôû"), 0x308: ("eiu", "ëïü"),
                0x327: ("c", "ç")}
    lines = []
    for accent, (letters, wholes) in composed.items():
        for letter, whole in zip(letters + letters.upper(), wholes + wholes.upper()):
            lines.append(f"{ord(letter):x} {accent:x}\t{ord(whole):x}")
    lines += [f"{c:x}\t27" for c in (0x60, 0xB4, 0x2018, 0x2019, 0x2BC, 0x2032)]
    lines += [f"{c:x}\t20" for c in (0x9, 0xA, 0xD, 0xA0, 0x2009, 0x200A, 0x202F, 0x3000)]
    return "".join(line + "\n" for line in lines)


def make_vocabulary(corpus):
    """Unigram pieces of both languages, with the ids of T5: 0 is <pad>, 1 </s>, 2 <unk>. Returns the model's bytes."""
    sentences = [PREFIX + e for e, _ in corpus] + [f for _, f in corpus]
    # The trainer considers what it finds in two different words: here that makes every word a piece it considers.
    sentences += sorted({word + mark for s in sentences for word in re.findall(r"\w+", s) for mark in ".,"})
    trained = io.BytesIO()
    with tempfile.TemporaryDirectory() as directory:
        table = os.path.join(directory, "rules.tsv")
        with open(table, "w", encoding="utf-8") as file:
            file.write(rules())
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=trained, model_type="unigram", vocab_size=PIECES,
            character_coverage=1.0, pad_id=PAD, eos_id=EOS, unk_id=2, bos_id=-1, normalization_rule_tsv=table,
            num_threads=1, minloglevel=2)
    model = sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue())
    model.normalizer_spec.ClearField("normalization_rule_tsv")  # a path of this machine
    return model.SerializeToString()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(0, encoding="utf-8") as corpus:
        spiece = make_vocabulary([line.rstrip("\n").split("\t") for line in corpus])
    with open(sys.argv[1], "wb") as file:
        file.write(spiece)


if __name__ == "__main__":
    main()
