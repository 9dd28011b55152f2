"""Writes what the fuzz targets begin with: python3 make_seeds.py DIRECTORY makes TARGET/ and TARGET.dict in it."""
import os
import struct
import sys

JSON = [
    "null", "true", "-0", "0.1e-5", "123456789012345678901234567890", "18446744073709551615", "1e400", "2.5E+3",
    '"\\ud83d\\ude00\\u0000\\n\\"\\\\\\/"', '"é€😀\u007f"', "[]", "{}", '[1, [2, [3]], {"a": []}]',
    "[" * 130 + "]" * 130,
    '{"num_layers": 6, "d_ff": 2048, "tie": false, "name": "t5", "a": {"a": 1, "a": null}}', ' \t\r\n[ 1 , 2 ] ',
    "4.9406564584124654e-324", "1.7976931348623157e308", "0." + "0" * 60 + "1e61",
    "18446744073709551616", '"\\udc00"', '"\\ud83d\\ud83d"', '"\ud800\udbff"', '["\ud83d\ude00"]', '"\\u12',
    "1" * 900, "0." + "5" * 799 + "0" * 50 + "1", "-" + "7" * 805 + ".5e-800",
]
JSON_WORDS = ["null", "true", "false", "\\u", "\\ud83d\\ude00", "\\udc00", "e+", "e-", "-0", "0.", ":", "{}", "[]",
              '""', "\\\\", '\\"', "\xc3\xa9", "\xed\xa0\x80", "\xf4\x90\x80\x80"]

DTYPES = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "F16": 16,
          "BF16": 16, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}


def tensors(*shapes, metadata=""):
    """A header of tensors of these dtypes and shapes, and data that fit it."""
    members, end = [metadata] if metadata else [], 0
    for i, (dtype, shape) in enumerate(shapes):
        size = DTYPES[dtype]
        for n in shape:
            size *= n
        members.append('"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}'
                       % (chr(98 + i), dtype, list(shape), end, end + size // 8))
        end += size // 8
    return ("{" + ",".join(members) + "}").encode(), bytes(range(1, end + 1))


SAFETENSORS = [
    tensors(), tensors(("F32", [2])), tensors(("U8", [])), tensors(("I64", [0, 3]), ("BF16", [1, 2])),
    tensors(("F4", [2, 2]), ("F6_E2M3", [4])), tensors(("BOOL", [3]), ("C64", [1]), ("F16", [1])),
    tensors(("F64", [1]), ("I8", [2]), metadata='"__metadata__":{"format":"pt"}'),
]
SAFETENSORS += [(text.encode(), bytes(size)) for size, text in [
    (4, '{"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},'
        '"a\\u0000":{"data_offsets":[4,4],"shape":[0],"dtype":"I64"}}'),
    *((size, '{"b":{"dtype":"%s","shape":[%s],"data_offsets":[%s]}}' % tuple(broken)) for size, *broken in [
        (0, "U8", "4294967296,4294967296", "0,0"), (0, "U8", "2305843009213693952", "0,0"), (0, "F4", "1", "0,0"),
        (4, "U8", "4", "4,0"), (4, "U8", "5", "0,5"), (3, "U8", "3", "0,2"), (4, "U8", "3", "1,4"),
        (4, "U8", "3", "0,3")]),
    *((4, '{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"a":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}}'
       % (end - begin, begin, end)) for begin, end in [(3, 4), (2, 3), (2, 4), (0, 1), (0, 4)])]]
SAFETENSORS_WORDS = ['"dtype":', '"shape":', '"data_offsets":', '"__metadata__":', "[0,0]", "[0,4]", "4294967296",
                     "18446744073709551615", '{"dtype":"U8","shape":[],"data_offsets":[0,1]}', *DTYPES]


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def field(number, value):
    """A field of a message: bytes, a whole number or a float."""
    def varint(v):
        return bytes([v]) if v < 128 else bytes([v & 127 | 128]) + varint(v >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text, score=-1.0, kind=1):
    return field(1, field(1, as_bytes(text)) + field(2, score) + (field(3, kind) if kind != 1 else b""))


UNK = piece("<unk>", 0.0, 2)
PLAIN = UNK + piece("</s>", 0.0, 3) + piece("▁") + piece("a", -2.0) + piece("▁ab", -2.5) + piece("<x>", 0.0, 4)
MODELS = [  # how it is made, bytes of the model, text
    (0, PLAIN, "ab a<x>é"), (0, UNK + piece("a", 0.0, 5), "aa"), (4, PLAIN, "a<extra_id_0> b<extra_id_2>"),
    (0, PLAIN + field(3, field(3, 0) + field(4, 0) + field(5, 0)), " a  b "), (0, PLAIN + field(2, field(24, 1)), "ab"),
    (0, PLAIN + field(2, field(44, b"?")) + field(5, field(3, 0)), "abc"), (1, piece("c"), "abcABA\u00a0a"),
    (1, field(2, field(3, 2)), "a"), (1, field(5, field(3, 0)), "b"), (2, b"\4\0\1", "AB"),
    (2, b"\x0a\4\0\x0b\4\0", "A"),
    (5, piece("▁▁", -3.0), "a \u2581 <extra_id_1>"), (1, field(3, field(2, b"")), "A"), (1, field(7, 300), "\ufb01"),
    (0, PLAIN + piece("<0x00>", 0.0, 6), "a"), (1, field(2, field(46, b"<x>") + field(47, b"</s>")), "a"),
    (1, piece("<x>a", -2.9), "<x>a"), (1, piece(b"\xe2", 0.0, 4), b"\xe2"), (2, b"\x4b\0\1\x4d\0\0", "A"),
    (2, b"\x4b\0\1", "A"), (2, b"\x0b\0\xb0\x0c\0\4", "A"), (2, b"\x0a\0\1", "A"), (2, b"\x07\0\5", "A"),
    *((how, field(2, field(3, kind)) + more, "abaABA<x>\u00e9 ba") for kind in (2, 3, 4) for how, more in [
        (1, b""), (1, piece("ba", -1.5)), (1, piece("ba", 1.5, 5) + piece("aba", 0.0)), (5, piece("aab", -0.0, 4)),
        (3, piece("ba", 0.0, 5)), (7, piece("▁ab", 2.0, 3) + piece("bb", -9.0, 5) + piece("bbb", -0.0, 5))]),
    (3, b"", "ax\u00e9"), (7, piece("\0", 0.0, 6), "x<extra_id_1>"), (3, field(2, field(35, 0)), "x"),
]
MODELS_WORDS = [b"\x0a", b"\x12", b"\x1a", b"\x2a", b"\x15\0\0\x80\x3f", b"\x18\1", b"\x18\2", b"\x18\4", b"\x18\5",
                b"\x98\2\1", b"\x12\2\x18\2", b"\xc0\1\1", b"\x18\0", b"\x20\0", b"\x28\0",
                b"\xff\xff\xff\xff\x0f", "▁".encode(), b"<extra_id_1>", b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\1",
                "\u00a0".encode(), b"AB", b"<x>"]

TEXTS = [
    "The house is wonderful.", " a  b ", "Le garçon a été à l'école", "cafe\u0301 \ufb01 \uff21\uff22", "日本語 テスト が",
    "😀❤\u200d🔥", "\t\n\r x \0 y", "<extra_id_0> <extra_id_99><extra_id_100>", "▁▁a▁", "e-mail: x@y.org [a + b] {c}",
]
TEXTS_WORDS = ["▁", "<extra_id_0>", "<extra_id_99>", "\u0301", "\u3000", "\ufb01", "\uff21", "が", "  ", "the", "tion",
               "<|user|>", b"\xff", b"\xe2\x96", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]

WORDS = "[UNK]\n[CLS]\na\n##a\nab\n##b\n.\né\n"
BERT = ('{"model":{"type":"WordPiece"%s},"normalizer":{"type":"BertNormalizer"%s},'
        '"pre_tokenizer":{"type":"BertPreTokenizer"}%s}')
VOCAB = ',"vocab":{"[UNK]":0,"a":9,"##b":3}'
WORDPIECE = [  # which files, vocab.txt, tokenizer.json, tokenizer_config.json, text
    (1, WORDS, "", "", "ab abba é A\u0301b."), (1, WORDS.replace("\n", "\r\n") + "\n\na", "", "", "a[CLS]a"),
    (5, WORDS, "", '{"do_lower_case":false,"strip_accents":true}', "aB É"), (1, "", "", "", "a"), (1, "\xff", "", "", ""),
    (5, WORDS, "", '{"unk_token":{"content":"a"},"cls_token":"ab"}', "ab"),
    (4, "", "", '{"added_tokens_decoder":{"7":{"content":"xy","rstrip":true}}}', ""),
    (12, "", "", '{"added_tokens_decoder":{"7":{"content":"xy","lstrip":true}}}', "a xy b"),
    (2, "", BERT % (VOCAB, "", ""), "", "ab abb"), (2, "", BERT % (VOCAB + ',"unk_token":"a"', "", ""), "", "x"),
    (2, "", BERT % (VOCAB + ',"max_input_chars_per_word":2', "", ""), "", "abb"),
    (3, WORDS, BERT % (',"continuing_subword_prefix":"a"', ',"clean_text":false', ""), "", "ab\0"),
    (10, "", BERT % ("", ',"handle_chinese_chars":false,"lowercase":false', ""), "", "漢a漢 A"),
    (10, "", BERT % ("", "", ',"post_processor":{"cls":["a",1],"sep":["b"]}'), "", "漢"),
    (10, "", BERT % ("", "", ',"post_processor":{"single":[{"SpecialToken":{"id":"a"}},{"Sequence":{}}]}'), "", "b"),
    (24, "", "", "", " <a> <a>ba BA  b"), (24, "", "", "", "e\u0315\u0300\u05ae\u0301 \uac00\u11a8 \ufdfa"),
    (8, "", "", "", "ab" * 60 + "\u1e9b\u0323"), (8, "", "", "", "\u0dd9\u0dcf\u0dca [SEP] \u3000\u200b"),
]
WORDPIECE_WORDS = ['"model"', '"type"', '"WordPiece"', '"vocab"', '"added_tokens"', '"content"', '"normalized":true', '"id"',
                   '"lstrip":true', '"rstrip":true', '"single_word":true', '"unk_token"', '"lowercase":false', "null", "##",
                   '"strip_accents":true', '"clean_text":false', '"added_tokens_decoder"', "[UNK]", "[CLS]", "<a>",
                   "\u0301", "\u0323", "\u0345", "\u0f71", "\u11a8", "\u1161", "\u1100", "\uac00", "\ufdfa", "\u3000"]

BPE_VOCAB = '"vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"<0xC3>":4,"<0xA9>":5,"?":6,"\u2581":7,"\u2581a":8}'
BPE_FILES = ['{"model":{%s,"merges":%s%s}%s}' % (BPE_VOCAB, merges, more, rest) for merges, more, rest in [
    ('["a b"]', "", ""), ('[["a","b"],["\u2581","a"]]', ',"unk_token":"?","byte_fallback":true,"fuse_unk":true',
     ',"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first","split":false}'),
    ("[]", ',"ignore_merges":true', ',"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}'),
    ('["#version: 0.2","a b","a b"]', "", ',"added_tokens":[{"id":9,"content":"<s>","special":true,"lstrip":true},'
     '{"id":10,"content":" ","rstrip":true,"normalized":true},{"id":2,"content":"ab","single_word":true}]'),
    ('["a b"]', "", ',"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Prepend","prepend":"\u2581"},'
     '{"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]},"decoder":{"type":"Sequence","decoders":'
     '[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},'
     '{"type":"Strip","content":" ","start":1,"stop":0}]}'),
    ('["a b"]', "", ',"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\\\p{N}"},"behavior":"MergedWithNext"}'),
    ('["a b"]', "", ',"added_tokens":[{"id":9,"content":"<s>"}],"post_processor":{"type":"TemplateProcessing","single":'
     '[{"SpecialToken":{"id":"<s>"}},{"Sequence":{}}],"special_tokens":{"<s>":{"ids":[9]}}}'),
]]
BPE_WORDS = ['"type":', '"Split"', '"ByteLevel"', '"Metaspace"', '"Digits"', '"Sequence"', '"NFC"', '"Replace"', '"Prepend"',
             '"pattern":{"String":" "}', '"behavior":"Removed"', '"invert":true', '"merges":["a b"]', '"vocab":{"a":0}',
             '"added_tokens":[', '"content":', '"single_word":true', '"special":true', '"normalized":true', "\u2581", "\u0120",
             "'s", "'LL", "\u0301", "\r\n", "<|im_end|>", "<s>", "\u4e00", "\u017f", b"\xff", b"\xe2\x96"]

JINJA = [
    "{% for x in messages %}{{- '<|' ~ x['role'] ~ '|>' + x.content|trim }}\n{%- endfor %}{{ m[::-1] }}",
    "{% set ns = namespace(a=1) %}{% for x in range(3) if x is odd %}{% set ns.a = ns.a + x %}{{ loop.last "
    "}}{% else %}b{% endfor %}",
    "{% macro f(a, b='c') -%}[{{ a }}{{ b }}]{%- endmacro %}{{ f(m, b=none) }}{{ {'k': [1, (2.5,), "
    "true]}|tojson(indent=2) }}",
    "{% if m.split('x')[-1].lstrip(',') and not tools %}a{% elif 'a' in m %}b{% else %}{{ "
    "raise_exception('c') }}{% endif %}",
    "{# c #}{% raw %}{{ x }}{% endraw %}{{ messages|selectattr('role', 'equalto', "
    "'user')|map(attribute='content')|join(', ') }}",
    "{% set a, b = 1, 'b' %}{% set c %}{{ m|upper }}{% endset %}{{ c|replace('X', 'y')|indent(2, true) }}{{ "
    "(a - 3) // 2 % 5 / 7 * 1e3 }}",
    "{% with x = messages|sort(attribute='role')|list %}{{ x[0] }}{{ x|length }}{% break %}{% endwith %}{{ "
    "messages[1].content.splitlines() }}",
    "{{ 'a\\n\\x41\\u00e9' 'b' }}{{ m is string and m is not none or 1 < 2 <= 3 != 4 }}{{ m|default('d', "
    "true)|title }}{% generation %}g{% endgeneration %}",
    "{{ [3, 1, 2]|sort(reverse=true) }}{{ {'b': 1, 'a': 2}|dictsort }}{{ m|int(7) }}{{ 2.5|round }}{{ "
    "m.replace('x', '!')|reverse|list|unique|first }}",
    "{% filter trim %} {{ messages[1].content|tojson }} {% endfilter %}{%+ if 1 +%}\n  {% endif -%}  {{ [[m]] "
    "== [[m]] }}{{ strftime_now('%Y') }}",
]
JINJA_WORDS = ["{{", "}}", "{%", "%}", "{%-", "-%}", "{#", "#}", "{% for x in ", "{% endfor %}", "{% if ",
               "{% else %}", "{% endif %}", "{% set x = ", "{% set ns.x = ", "namespace(x=", "messages",
               "['content']", ".content", "loop.", "|tojson", "|map(", "|selectattr(", "|join(", "|replace(",
               ".split(", ".strip(", "range(", "is defined", "not in", "[::-1]", "|indent(", "{% macro x(a) %}",
               "{% endmacro %}", "x(x)", "~", "//", "|sort", "|list", "|safe", "{% raw %}", "{% endraw %}", "m * 99",
               "{% break %}", "|upper", "|title", ".find(", "none", "true", "1e9", "|round", "\\u00e9", "\xf5"]


def gguf(*parts):
    """Numbers (a size in bytes and a value), texts and bytes, as a GGUF file has them behind its version; each seven
    zeros as a byte of 255."""
    out = b""
    for part in parts:
        if isinstance(part, tuple):
            out += part[1].to_bytes(part[0], "little")
        else:
            out += part if isinstance(part, bytes) else struct.pack("<Q", len(part)) + part.encode()
    return out.replace(bytes(7), b"\xff")


GGUF = [
    gguf((8, 0), (8, 1), "k", (4, 4), (4, 7)), gguf((8, 0), (8, 1), "k", (4, 8), "text"),
    gguf((8, 0), (8, 2), "k", (4, 9), (4, 8), (8, 2), "a", "b", "n", (4, 9), (4, 5), (8, 2), (4, 1), (4, 2)),
    gguf((8, 0), (8, 1), "general.alignment", (4, 4), (4, 8)), gguf((8, 0), (8, 1), "f", (4, 12), (8, 1)),
    *(gguf((8, 1), (8, 0), "w", (4, 2), (8, count), (8, 1), (4, kind), (8, 0), bytes(12), bytes(size))
      for kind, count, size in ((0, 2, 8), (1, 2, 4), (2, 32, 18), (7, 32, 24), (8, 32, 34), (10, 256, 84), (11, 256, 110),
                                (12, 256, 144), (13, 256, 176), (14, 256, 210), (30, 2, 4), (39, 32, 17), (99, 3, 0))),
    gguf((8, 2), (8, 0), "w", (4, 1), (8, 1), (4, 0), (8, 0), "v", (4, 0), (4, 0), (8, 32), bytes(60)),
]
GGUF_WORDS = ["general.alignment", "\x01\xff", "\x02\xff", "\x20\xff", "\x04\0\0\0", "\x08\0\0\0", "\x09\0\0\0"]


def keys(architecture, *rest, tensors=()):
    """A GGUF with keys of that architecture: names in turn with numbers, flags, texts and lists of texts; vectors."""
    out = [(8, len(tensors)), (8, 1 + len(rest) // 2), "general.architecture", (4, 8), architecture]
    for name, value in zip(rest[::2], rest[1::2]):
        out.append(name)
        if isinstance(value, bool):
            out += [(4, 7), (1, value)]
        elif isinstance(value, int):
            out += [(4, 4), (4, value)]
        elif isinstance(value, str):
            out += [(4, 8), value]
        elif isinstance(value[0], int):
            out += [(4, 9), (4, 5), (8, len(value)), *((4, number) for number in value)]
        else:
            out += [(4, 9), (4, 8), (8, len(value)), *value]
    for i, name in enumerate(tensors):
        out += [name, (4, 1), (8, 2), (4, 0), (8, 32 * i)]
    return gguf(*out, bytes(64), bytes(32 * len(tensors)))


TOKENS = "tokenizer.ggml."
GGUF_FILES = [
    keys("llama", "llama.block_count", 1, "llama.embedding_length", 4, "llama.attention.head_count", 2,
         tensors=["token_embd.weight", "blk.0.attn_q.bias", "output_norm.weight"]),
    keys("gemma2", "gemma2.attention.sliding_window", 3, "gemma2.block_count", 46, tensors=["blk.0.attn_norm.weight"]),
    keys("t5", "t5.block_count", 1, TOKENS + "eos_token_id", 1, tensors=["enc.blk.0.ffn_up.weight"]),
    keys("qwen2", "qwen2.rope.scaling.type", "yarn", "split.count", 1),
    *(keys("llama", TOKENS + "model", "gpt2", TOKENS + "pre", pre, TOKENS + "tokens", ["a", "b", "ab", "<s>"],
           TOKENS + "token_type", [1, 1, 1, 3], TOKENS + "merges", ["a b"], TOKENS + "bos_token_id", 3,
           TOKENS + "add_bos_token", True) for pre in ("smollm", "tekken", "qwen2")),
    *(keys("llama", TOKENS + "model", kind, TOKENS + "tokens", ["<unk>", "a", "<0x41>"], TOKENS + "token_type", [2, 1, 6],
           TOKENS + "unknown_token_id", 0, TOKENS + "add_space_prefix", False, "tokenizer.chat_template", "{{ 'a' }}")
      for kind in ("llama", "t5")),
]
GGUF_FILES_WORDS = GGUF_WORDS + [
    "general.architecture", "llama", "qwen2", "qwen3", "gemma2", "gemma3", "smollm3", "t5", ".block_count",
    ".embedding_length", ".attention.head_count", ".attention.head_count_kv", ".attention.key_length", ".rope.freq_base",
    ".rope.scaling.type", ".rope.scaling.factor", "linear", "yarn", "none", "tokenizer.ggml.", "model", "pre", "gpt2",
    "tokens", "token_type", "scores", "merges", "bos_token_id", "eos_token_id", "add_bos_token", "add_eos_token",
    "precompiled_charsmap", "blk.0.", "attn_q.weight", "attn_k.weight", "ffn_norm.weight", "rope_freqs.weight"]


def write(target, inputs, words):
    os.makedirs(os.path.join(sys.argv[1], target), exist_ok=True)
    for i, data in enumerate(inputs):
        with open(os.path.join(sys.argv[1], target, "seed%02d" % i), "wb") as f:
            f.write(data)
    with open(os.path.join(sys.argv[1], target + ".dict"), "w") as f:
        for word in words:
            f.write('"%s"\n' % "".join("\\x%02x" % b for b in as_bytes(word)))


write("json", [text.encode("utf-8", "surrogatepass") for text in JSON], [w.encode("latin-1") for w in JSON_WORDS])
write("safetensors",
      [b"\0" + header + b"\0" + data for header, data in SAFETENSORS]
      + [b"\1" + struct.pack("<Q", len(header)) + header + data for header, data in SAFETENSORS], SAFETENSORS_WORDS)
write("gguf", GGUF, [w.encode("latin-1") for w in GGUF_WORDS])
write("gguf_files", GGUF_FILES, [w.encode("latin-1") for w in GGUF_FILES_WORDS])
write("sentencepiece", [bytes([how, len(as_bytes(text))]) + model + as_bytes(text) for how, model, text in MODELS],
      MODELS_WORDS)
write("tokenize", [bytes([model]) + text.encode() for text in TEXTS for model in (0, 1, 2, 3, 4, 5, 128)], TEXTS_WORDS)
write("wordpiece", [bytes([how, *(len(as_bytes(f)) for f in files)]) + b"".join(map(as_bytes, files)) + as_bytes(text)
                    for how, *files, text in WORDPIECE], WORDPIECE_WORDS)
write("bpe", [bytes([0, len(text.encode())]) + file.encode() + text.encode() for file in BPE_FILES
              for text in ("aab b a", "\u2581ab\u00e9? <s> ab")]
      + [bytes([1, len(text.encode()), kind]) + b"\x20\1a\x51\2\"" + text.encode() for kind in range(16) for text in TEXTS[:2]]
      + [bytes([2, 255, kind]) + text.encode() for text in TEXTS for kind in range(16)], BPE_WORDS)
write("jinja", [text.encode() for text in JINJA], JINJA_WORDS)
