"""Text that tokenizers get wrong: lines(count, seed) yields it, the same for the same arguments.

Each line is a handful of parts, with and without space between them: words of many languages, numbers, punctuation,
characters of every script, marks without end, emoji, control characters, every kind of space, special tokens of many
models, words of thousands of characters, cases that change length. A line has no LF, unless `breaks` asks for it: then
LF and CR LF are among the spaces. Every line is valid Unicode: nothing of it depends on how bytes that are not UTF-8
are read. `python3 hostile.py COUNT SEED` prints lines."""
import random
import sys

WORDS = """the house is wonderful attention transformers embedding unbelievable tokenization don't can't we'll I'm they've
SHE'S it's o'clock rock'n'roll McDonald iPhone snake_case camelCase HTTPServer x86_64 C++ C# a.b.c e-mail well-known
naïve café résumé Zürich Straße Übergröße ŒUVRE œuvre façade Noël Ångström smörgåsbord piñata coração não às ça İstanbul
ılık Iğdır DİYARBAKIR ŞIŞLI Łódź żółć źdźbło dvojčata ŘEKA příliš žluťoučký kôň ľúbiť gyűrűző tűzhely ŐSZ ţară țară
ΟΔΥΣΣΕΥΣ Ὀδυσσεύς ΣΊΣΥΦΟΣ σοφός ΆΝΘΡΩΠΟΣ ᾳ ᾼ ῼ ΐ Москва ёлка Ёлка йод ЙОД съешь щёлочь Київ їжак ґанок Бъ ДЖ Ђорђе
হ্যালো নমস্তে নমস্কার हिन्दी क्षत्रिय ज्ञान ড় ড় தமிழ் கொ கோ తెలుగు ಕನ್ನಡ ಕೊ മലയാളം ൊ සිංහල ශ්‍රී ไทย น้ำ ກຳ ພາສາລາວ བོད་ཡིག
မြန်မာ ភាសាខ្មែរ ქართული ᲥᲐᲠᲗᲣᲚᲘ հայերեն ԵՒ և שלום שָׁלוֹם ﬡﬠ العربية السَّلَامُ عَلَيْكُمْ لا ﻻ ﷺ ﷽ فارسی می‌خواهم اردو ܫܠܡܐ ދިވެހި
አማርኛ ᏣᎳᎩ ꮳꮃꭹ ᐃᓄᒃᑎᑐᑦ ᠮᠣᠩᠭᠣᠯ 你好世界 漢字 汉字 北京大学 中文abc中文 12月 豈 﨑 神 日本語 ひらがな カタカナ ｶﾞｷﾞ がぎ ぱ ゟ ヿ ㍿ ㌔ ㋿ ㈱ ㄅㄆㄇ
한국어 각 각 각 안녕하세요 ㄱㄴ ﾡ ꥠ Tiếng Việt Nguyễn ề ṩ q̣̇ Ǆ ǅ ǆ ß ẞ ﬁ ﬂ ﬃ ſ ŉ ǰ ẖ ﬅ K Å Ω ª º Ⅷ ⅷ Ⓐ ⓐ 𝐀𝓑𝔠 𝟘𝟙 Ａｂｃ１２３ 𐐀𐐨 𞤀𞤢 𝒳
ʼn ʼ ՚ 𒀀 𓀀 ℵ ⁿ ₂ ½ ⅓ ① ⒈ ㊀ ٣ ३ ๓ ໓ ໒ 一二三""".split()

SPECIAL = """[CLS] [SEP] [MASK] [UNK] [PAD] [cls] [Mask] [MASK [SEP]] [[CLS] [CLS][SEP] [unused0] [unused99] ##ing ## ###
<s> </s> <unk> <pad> <mask> <bos> <eos> <|endoftext|> <|im_start|> <|im_end|> <|begin_of_text|> <|eot_id|> <|endoftext|
<start_of_turn> <end_of_turn> <|start_header_id|>user<|end_header_id|> [INST] [/INST] <<SYS>> <think> </think> <tool_call>
<0x41> <0x0A> <0xC3> <extra_id_0> <extra_id_99> <unused5> <|reserved_special_token_3|> <|fim_prefix|> ▁ ▁▁the ▁the Ġ Ġthe
Ċ ĉ â Ã© Â <s <S> < s> <s>> <|im_ start|>""".split()

EMOJI = ["\U0001F600", "\u2764\ufe0f", "\u2764", "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466",
         "\U0001F44D\U0001F3FD", "\U0001F1E9\U0001F1EA", "\U0001F1FA\U0001F1F8\U0001F1EB", "1\ufe0f\u20e3", "#\ufe0f\u20e3",
         "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "\U0001F469\U0001F3FF\u200d\U0001F680",
         "\u200d\U0001F600", "\U0001FAE8", "\U0001F979\ufe0e", "\u263a\ufe0e", "\U0001F441\ufe0f\u200d\U0001F5E8\ufe0f"]

SPACES = [" ", "  ", "   ", " " * 7, " " * 33, "\t", "\t\t", "\r", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0",
          "\u1680", "\u180e", "\u2000", "\u2003\u2009", "\u200a", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060",
          "\u3000", "\ufeff", " \xa0 ", " \t ", "\t ", "\r ", " \u3000"]

CONTROLS = [chr(c) for c in [*range(1, 9), *range(14, 32), *range(0x7F, 0xA0), 0xAD]] + [
    "\0", "\0\0", "a\0b", "\ufffd", "\ufffd\ufffd", "\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066",
    "\u2069", "\u061c", "\u06dd", "\u070f", "\u08e2", "\U000110BD", "\U000110CD", "\U00013430", "\ufff9", "\ufffb",
    "\ue000", "\uf8ff", "\U000F0000", "\U0010FFFD", "\ufdd0", "\uffff", "\U0001FFFF", "\U0010FFFF", "\u0378",
    "\u1ac8", "\u0890", "\U000E0001", "\U000E0020"]

PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + [
    "...", "--", "---", "==", "!=", "->", "=>", "?!", "!!!", "://", "/*", "*/", "''", '""', "``", "'s", "'LL", "'\u017F",
    "\u2019s", "\u2018", "\u2019", "\u201c", "\u201d", "\u00ab", "\u00bb", "\u2013", "\u2014", "\u2026", "\u00bf", "\u00a1",
    "\u00a7", "\u00b6", "\u3001", "\u3002", "\u300c", "\u300d", "\uff01", "\uff0c", "\u30fb", "\u060c", "\u061f", "\u061d",
    "\u0964", "\u166d", "\u2e43", "\u2e52", "\u05be", "\u20ac", "\u00a3", "\u00a5", "\u00b0", "\u00a9", "\u2122", "\u00d7",
    "\u00f7", "\u2212", "\u00b1", "\u2248", "\u221e", "\u2192", "\u00b4", "\u00a8", "\u02c6", "\u02dc", "\u309b"]

SNIPPETS = ["https://example.org/a/b?c=d&e=%20f#g", "x@y.org", "if (a[i] != b->c) { return -1; }", "def f(x):\treturn x**2",
            "SELECT * FROM t WHERE a='b';", '{"key": [1, 2.5e-3, null]}', "<p class=\"x\">a &amp; b</p>", "\\frac{a}{b}",
            "2024-02-30T23:59:60Z", "1,234,567.89", "-0.5e+10", "0x1F", "192.168.0.1", "+49 (0)30 123456", "\u20ac3,50",
            "100%", "1st 2nd 3rd", "3.14159265358979", "1234567890" * 3, "\u0661\u0662\u0663", "1\u00bd", "x\u00b2+y\u00b2"]

# Where characters of a script, or of a kind, lie.
RANGES = [(0x20, 0x7E), (0xA1, 0xFF), (0x100, 0x24F), (0x250, 0x2FF), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58F),
          (0x591, 0x5F4), (0x600, 0x6FF), (0x700, 0x74F), (0x780, 0x7BF), (0x8A0, 0x8FF), (0x900, 0x97F), (0x980, 0x9FF),
          (0xA00, 0xA7F), (0xB80, 0xBFF), (0xC00, 0xC7F), (0xD00, 0xDFF), (0xE00, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F),
          (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137F), (0x13A0, 0x13FF), (0x1780, 0x17FF), (0x1800, 0x18AF),
          (0x1B00, 0x1B7F), (0x1C80, 0x1CFF), (0x1D00, 0x1DFF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x2000, 0x206F),
          (0x2070, 0x209F), (0x20A0, 0x20FF), (0x2100, 0x218F), (0x2190, 0x23FF), (0x2460, 0x24FF), (0x2500, 0x27BF),
          (0x2C00, 0x2DFF), (0x2E00, 0x2E7F), (0x2E80, 0x2FDF), (0x3000, 0x30FF), (0x3130, 0x31FF), (0x3200, 0x33FF),
          (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x4E00, 0x9FFF), (0xA640, 0xA6FF), (0xA720, 0xA7FF), (0xA800, 0xA8FF),
          (0xAA00, 0xABFF), (0xAC00, 0xD7A3), (0xD7B0, 0xD7FF), (0xE000, 0xE010), (0xF900, 0xFAFF), (0xFB00, 0xFB4F),
          (0xFB50, 0xFDFF), (0xFE00, 0xFE6F), (0xFE70, 0xFEFF), (0xFF00, 0xFFEF), (0xFFF0, 0xFFFF), (0x10000, 0x102FF),
          (0x10400, 0x104FF), (0x10A00, 0x10FFF), (0x11000, 0x11FFF), (0x12000, 0x1254F), (0x13000, 0x1345F),
          (0x16A00, 0x16FFF), (0x1B000, 0x1B2FF), (0x1BC00, 0x1BCAF), (0x1CC00, 0x1CFCF), (0x1D000, 0x1D24F),
          (0x1D400, 0x1D7FF), (0x1DF00, 0x1E14F), (0x1E290, 0x1E95F), (0x1EC70, 0x1EEFF), (0x1F000, 0x1F2FF),
          (0x1F300, 0x1FAFF), (0x1FB00, 0x1FBFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B9FF), (0x2CEB0, 0x2EE5F),
          (0x2F800, 0x2FA1F), (0x30000, 0x323AF), (0xE0000, 0xE01EF)]
MARKS = [*range(0x300, 0x370), *range(0x483, 0x48A), *range(0x591, 0x5BE), *range(0x610, 0x61B), *range(0x64B, 0x660),
         0x93C, 0x94D, 0x9BE, 0x9D7, 0xE31, 0xE38, 0xE48, 0xF71, 0xF72, 0xF74, 0x1DC0, 0x1DFB, 0x1ABF, 0x20D0, 0x20DD,
         0x20E3, 0x302A, 0x302E, 0x3099, 0x309A, 0xFE20, 0x10A0D, 0x11099, 0x1D165, 0x1D16E, 0x1E8D0, 0x1E944]
BASES = "aeiouAEIOUnNsScCqıİjǰκωΩΑиЕकনশאבايかはカハ각가1-. 한\u212b\u1100"


def character(r):
    while True:
        first, last = r.choice(RANGES) if r.random() < 0.9 else (0, 0x10FFFF)
        c = r.randint(first, last)
        if not 0xD800 <= c < 0xE000 and c not in (0x0A,):
            return chr(c)


def of_one_range(r):
    first, last = r.choice(RANGES)
    return "".join(chr(r.randint(first, last)) for _ in range(r.randint(1, 12)))


def marked(r):
    many = 60 if r.random() < 0.03 else 4
    return "".join(r.choice(BASES) + "".join(chr(r.choice(MARKS)) for _ in range(r.randint(0, many)))
                   for _ in range(r.randint(1, 4)))


def jamo(r):
    parts = (chr(0x1100 + r.randrange(21)), chr(0x1161 + r.randrange(23)), chr(0x11A7 + r.randrange(30)))
    return "".join(p for p in parts * r.randint(1, 3) if r.random() < 0.85)


def changed_case(r):
    word = r.choice(WORDS)
    return r.choice([word.upper, word.lower, word.title, word.swapcase])()


def glued(r):
    return "".join(r.choice(WORDS) for _ in range(r.randint(2, 5)))


def cut(r):
    word = r.choice(SPECIAL + WORDS)
    return word[:r.randint(1, len(word))]


def number(r):
    return "".join(r.choice("0123456789") for _ in range(r.randint(1, 20)))


def long_word(r):
    length = r.choice([90, 99, 100, 101, 102, 120, 300, 300, 1000, 5000])
    kind = r.randrange(5)
    if kind == 0:
        return r.choice(["a", "A", "é", "字", "가", "\U0001F600", "1", ".", "ing", "\u0301", "\u0f71"]) * length
    if kind == 1:
        return "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(length))
    if kind == 2:
        return "".join(chr(r.randint(0x4E00, 0x9FFF)) for _ in range(length // 4))
    if kind == 3:
        return "".join(chr(r.randint(0xAC00, 0xD7A3)) for _ in range(length // 4))
    return "".join(glued(r) for _ in range(length // 12))


PARTS = [(30, lambda r: r.choice(WORDS)), (6, changed_case), (4, glued), (8, lambda r: r.choice(SNIPPETS)),
         (8, lambda r: r.choice(PUNCTUATION)), (4, lambda r: r.choice(PUNCTUATION) * r.randint(2, 6)),
         (6, lambda r: r.choice(SPECIAL)), (3, cut), (6, lambda r: r.choice(EMOJI)), (5, lambda r: r.choice(CONTROLS)),
         (5, character), (6, of_one_range), (6, marked), (2, jamo), (4, number), (1, long_word)]
WEIGHTS, MAKERS = zip(*PARTS)


def line(r, spaces):
    kind = r.random()
    if kind < 0.01:
        return "".join(r.choice(spaces) for _ in range(r.randint(0, 4)))
    if kind < 0.03:
        return "".join(character(r) for _ in range(r.randint(1, 40)))
    plain = r.choice([0.0, 0.3, 0.8, 0.8, 1.0])  # how often parts are a space apart; else nothing or any space
    out = [r.choice(spaces) if r.random() < 0.1 else ""]
    for make in r.choices(MAKERS, WEIGHTS, k=r.choice([1, 2, 3, 5, 8, 12, 20])):
        out.append(make(r))
        out.append(" " if r.random() < plain else r.choice(spaces) if r.random() < 0.4 else "")
    return "".join(out)


def lines(count, seed, breaks=False):
    r = random.Random(seed)
    spaces = SPACES + ["\n", "\r\n", "\n\n", " \n", "\n \n  ", "\t\n"] * 2 if breaks else SPACES
    for _ in range(count):
        text = line(r, spaces)
        assert breaks or "\n" not in text
        yield text


if __name__ == "__main__":
    for text in lines(int(sys.argv[1]), int(sys.argv[2])):
        sys.stdout.buffer.write(text.encode() + b"\n")
