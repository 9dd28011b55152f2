"""Writes types.safetensors, types_unaligned.safetensors and safetensors.h beside itself, with the reference library.

    python3 make_safetensors.py        (safetensors, torch, numpy)

The two files hold every type of element; safetensors.h has what is in them, and odd and broken files with the verdict
of the reference. Where this project's reader decides otherwise, the row says why."""
import math
import os
import struct
import tempfile

import numpy as np
import safetensors
import safetensors.torch
import torch

here = os.path.dirname(os.path.abspath(__file__))

# ---- C ----

BREAK = "\x1f"  # where a line of C may end


def literal(data):
    """A C string literal of bytes, in lines that fit."""
    lines, line = [], ""
    for byte in data:
        c = chr(byte)
        piece = "\\" + c if c in '"\\' else c if 32 <= byte < 127 and c != "?" else f"\\{byte:03o}"
        if len(line) + len(piece) > 100:
            lines.append(line)
            line = ""
        line += piece
    return f" {BREAK}".join(f'"{x}"' for x in lines + [line])


def wrapped(row):
    """A row of a table, in lines that fit."""
    lines, line = [], "    "
    for piece in row.split(BREAK):
        if len(line) + len(piece.rstrip()) > 120:
            lines.append(line.rstrip())
            line = "     "
        line += piece
    return "\n".join(lines + [line])


def array(kind, name, items):
    """Numbers, as many a line as fit."""
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 118:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return f"static const {kind} {name}[] = {{\n" + "\n".join(lines + [line])[:-1] + "};\n"


def number(x):
    return "NAN" if math.isnan(x) else ("-" if x < 0 else "") + "INFINITY" if math.isinf(x) else float(x).hex()


# ---- the files of every type ----

floats = [0.0, -0.0, 1.0, -1.5, math.pi, -1e-3, math.inf, -math.inf, math.nan]
f64 = floats + [5e-324, -1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, -0.1, 3.5, 1 / 3]
f32 = floats + [1.4e-45, -1e-40, 1.17549435e-38, 3.4028234e38, -0.1, 3.5, 1 / 3]
f16 = floats + [6e-8, -6.1e-5, 6.1035e-5, 65504.0, -0.1, 3.5, 1 / 3]
bf16 = floats + [1e-40, -9e-41, 1.2e-38, 3.38e38, -0.1, 3.5, 1 / 3]
large = [0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 3, 2**62 + 2**9, 2**62 + 2**9 + 1, 2**63 - 1, 2**63 - 512]
i64 = large + [-x for x in large] + [-2**63, -2**63 + 513]
u64 = large + [2**63, 2**63 + 1024, 2**63 + 1025, 2**63 + 3072, 2**64 - 1025, 2**64 - 1024, 2**64 - 1]
bytes16 = torch.tensor([0, 1, 0x38, 0x7b, 0x7c, 0x7f, 0x80, 0xff, 3, 0x12, 0x40, 0x5a, 0x81, 0xb8, 0xc4, 0xfe],
                       dtype=torch.uint8)
eights = [torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]

tensors = {
    "f64": torch.tensor(f64, dtype=torch.float64),
    "f32": torch.tensor(f32, dtype=torch.float32).reshape(4, 4),
    "f16": torch.tensor(f16, dtype=torch.float16).reshape(2, 2, 4),
    "bf16": torch.tensor(bf16, dtype=torch.bfloat16).reshape(16, 1),
    "i64": torch.tensor(i64, dtype=torch.int64),
    "i32": torch.tensor([0, 1, -1, 2**31 - 1, -2**31, 65536], dtype=torch.int32),
    "i16": torch.tensor([0, 1, -1, 32767, -32768, 256, -2, 3, 4, 5, 6, 7], dtype=torch.int16).reshape(1, 2, 1, 3, 2),
    "i8": torch.tensor([0, 1, -1, 127, -128], dtype=torch.int8),
    "u64": torch.tensor(u64, dtype=torch.uint64),
    "u32": torch.tensor([0, 1, 2**31, 2**32 - 1, 65535], dtype=torch.uint32),
    "u16": torch.tensor([0, 1, 32768, 65535, 256], dtype=torch.uint16),
    "u8": torch.tensor([0, 1, 127, 128, 255], dtype=torch.uint8),
    "bool": torch.tensor([False, True, True, False, True]),
    "c64": torch.tensor([1 + 2j, complex(-0.0, math.inf), -3.25j], dtype=torch.complex64),
    "f4": bytes16.clone().view(torch.float4_e2m1fn_x2).reshape(2, 8),
    "scalar": torch.tensor(-2.5),
    "scalar.i64": torch.tensor(-7),
    "empty": torch.zeros(0),
    "empty.f64": torch.zeros(3, 0, 2, dtype=torch.float64),
    "empty.bool": torch.zeros(0, 0, dtype=torch.bool),
    "d\u00e9j\u00e0 \u65e5\u672c\u8a9e \U0001f600": torch.tensor([41.0]),
    "quote \" slash / back \\ tab \t newline \n bell \a": torch.tensor([42.0]),
    "zero \0 within": torch.tensor([43.0]),
    "": torch.tensor([44.0]),
} | {str(dtype)[6:]: bytes16.clone().view(dtype) for dtype in eights}
metadata = {"note": "\u00e9 \" \\ \n"}  # one, as the library writes several in any order


def of_bits(kind, bits):
    """The value of an element, or None for a type that is listed and not read."""
    if kind == "BF16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    codes = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I",
             "U16": "H", "U8": "B", "BOOL": "B"}
    if kind not in codes:
        return None
    size = struct.calcsize(codes[kind])
    return struct.unpack("<" + codes[kind], bits.to_bytes(size, "little"))[0]


sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2,
         "U8": 1, "BOOL": 1, "C64": 8}

contents = safetensors.torch.save(tensors, metadata)
header_size = struct.unpack("<Q", contents[:8])[0]
header, data = contents[8:8 + header_size].rstrip(), contents[8 + header_size:]
pad = b" " * ((3 - len(header)) % 8)
unaligned = struct.pack("<Q", len(header + pad)) + header + pad + data
assert header_size % 8 == 0 and len(header + pad) % 8 == 3
read = dict(safetensors.deserialize(contents))
assert read == dict(safetensors.deserialize(unaligned)) and read.keys() == tensors.keys()
for filename, text in ("types.safetensors", contents), ("types_unaligned.safetensors", unaligned):
    with open(os.path.join(here, filename), "wb") as f:
        f.write(text)
    back = safetensors.torch.load_file(os.path.join(here, filename))
    assert all(bytes(back[n].contiguous().reshape(-1).view(torch.uint8).numpy()) == bytes(read[n]["data"]) for n in back
               if back[n].numel() and back[n].dtype != torch.bool)

out = ["/* Written by make_safetensors.py with safetensors %s and PyTorch %s: what types.safetensors and\n"
       "   types_unaligned.safetensors hold, in the order of the names' bytes; and files with the verdict of the "
       "reference.\n   Included after examples/models/safetensors.h and math.h. */\n"
       % (safetensors.__version__, torch.__version__.split("+")[0]),
       "#define TEXT(literal) literal, sizeof literal - 1\n",
       "/* An element is its bits; of F4, two elements are, the byte that they share. Values are of the types that are "
       "read. */\n"
       "typedef struct golden_tensor {\n    const char *name;\n    size_t name_size;\n    safetensors_dtype dtype;\n"
       "    size_t rank, shape[5], count;\n    const uint64_t *bits;\n    const double *values;\n} golden_tensor;\n"]
rows = []
for i, name in enumerate(sorted(read, key=lambda n: n.encode())):
    info = read[name]
    kind, shape, raw = info["dtype"], info["shape"], bytes(info["data"])
    size = sizes.get(kind, 1)
    bits = [int.from_bytes(raw[k:k + size], "little") for k in range(0, len(raw), size)]
    values = [of_bits(kind, b) for b in bits]
    pointers = ["NULL", "NULL"]
    if bits:
        pointers[0] = f"golden_bits_{i}"
        out.append(array("uint64_t", pointers[0], [f"{b:#x}" + ("u" if b < 2**32 else "ull") for b in bits]))
        if values[0] is not None:
            pointers[1] = f"golden_values_{i}"
            out.append(array("double", pointers[1], [number(float(v)) for v in values]))
    extent = ", ".join(map(str, shape)) or "0"
    rows.append(wrapped(f"{{TEXT({literal(name.encode())}), {BREAK}SAFETENSORS_{kind}, {len(shape)}, {{{extent}}}, "
                        f"{math.prod(shape)}, {BREAK}{pointers[0]}, {BREAK}{pointers[1]}}},"))
out.append("static const golden_tensor golden_tensors[] = {\n" + "\n".join(rows) + "\n};\n")

# ---- odd and broken files ----

cases = []
OPENED_64 = "OPENED_64"


def verdict(contents):
    """Whether the reference accepts a file, from memory and from disk alike."""
    def accepts(read_it):
        try:
            read_it()
            return True
        except BaseException:  # it may panic, too
            return False

    def from_disk():
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as f:
            f.write(contents)
            f.flush()
            with safetensors.safe_open(f.name, "np") as opened:
                return opened.keys()
    accepted = accepts(lambda: safetensors.deserialize(contents))
    if accepts(from_disk) != accepted:
        assert not contents  # an empty file cannot be mapped
    return accepted


def case(name, before, data=0, cause="", us=None, why="", unit="", times=0, after="", length=None, cut=None):
    """A file: its length, `before`, times `unit`, `after`, and `data` zeros; or the first `cut` bytes of that. `us` is
    this project's verdict where it differs, and `why`; `cause` is what the message must say."""
    before, unit, after = (x.encode() if isinstance(x, str) else x for x in (before, unit, after))
    text = before + unit * times + after
    contents = (struct.pack("<Q", len(text) if length is None else length) + text + bytes(data))[:cut]
    reference = verdict(contents)
    opened = reference if us is None else us
    assert (opened == reference or opened == OPENED_64 and reference) or why, name
    assert opened or cause, name
    verdicts = ["REFUSED", "ACCEPTED"][reference], opened if opened == OPENED_64 else ["REFUSED", "OPENED"][opened]
    extent = "LENGTH_OF_HEADER" if length is None else f"{length}u" if length < 2**32 else f"{length}ull"
    sep = f", {BREAK}"
    cases.append(wrapped(
        f"{{{literal(name.encode())}{sep}{{{sep.join(map(literal, (before, unit, after)))}}}{sep}"
        f"{{{len(before)}, {len(unit)}, {len(after)}}}, {times}{sep}{extent}, {data}, "
        f"{'WHOLE' if cut is None else cut}{sep}{verdicts[0]}, {verdicts[1]}{sep}{literal(cause.encode())}}},"
        + (f" {BREAK}/* {why} */" if why else "")))


def info(dtype='"F32"', shape="[1]", offsets="[0,4]", extra=""):
    parts = [("dtype", dtype), ("shape", shape), ("data_offsets", offsets)]
    return "{" + ",".join(f'"{k}":{v}' for k, v in parts if v is not None) + extra + "}"


def one(dtype='"F32"', shape="[1]", offsets="[0,4]", extra="", name='"a"'):
    return "{" + name + ":" + info(dtype, shape, offsets, extra) + "}"


def two(a, b, shape_a="[1]", shape_b="[1]", names=('"a"', '"b"')):
    return "{" + f"{names[0]}:{info(shape=shape_a, offsets=a)},{names[1]}:{info(shape=shape_b, offsets=b)}" + "}"


good = one()
twice = "the last of several counts there; a file that says two things is wrong here"

# the length of the header
for n in range(8):
    case(f"{n} bytes", good, 4, "header length", cut=n)
case("a length and nothing more", "", length=2, cause="header")
case("eight zeros", "", cause="header", length=0)
case("a length of 0 before data", "", 4, "header", length=0)
case("a length beyond the limit", "{}", length=100000001, cause="header")
case("a length at the limit in a short file", "{}", length=100000000, cause="header")
case("a header at the limit", "{}", unit=" ", times=99999998)
case("a header beyond the limit", "{}", unit=" ", times=99999999, cause="header")
case("a length of 2^31", "{}", length=2**31, cause="header")
case("a length of 2^32 + 2", "{}", length=2**32 + 2, cause="header")
case("a length of 2^63", "{}", length=2**63, cause="header")
case("a length of 2^64 - 8", "{}", length=2**64 - 8, cause="header")
case("a length of 2^64 - 6", "{}", length=2**64 - 6, cause="header")
case("a length of 2^64 - 1", "{}", length=2**64 - 1, cause="header")
case("a length past the end by one", "{}", length=3, cause="header")
case("a length past the end by four", good, 4, "header", length=len(good) + 5)
case("a length into the data", good, 4, "header", length=len(good) + 1)
case("a length short by one", good, 4, "header", length=len(good) - 1)

# JSON
case("an empty header", "{}")
case("metadata alone", '{"__metadata__":{"a":"b"}}')
case("one tensor", good, 4)
case("space before", " \t\r\n" + good, 4)
case("space after", good + " \t\r\n", 4)
case("space within", ' { "a" : { "dtype" : "F32" ,\n"shape" : [ 1 ] ,\t"data_offsets" : [ 0 , 4 ]\r} } ', 4)
for name, text in [("an array", "[]"), ("null", "null"), ("a string", '"a"'), ("a number", "3"), ("true", "true"),
                   ("an array of an object", "[{}]"), ("space alone", "   "), ("two objects", "{}{}"),
                   ("a letter after", "{}x"), ("a NUL after", "{}\0"), ("a NUL before", "\0{}"),
                   ("a byte order mark", "\ufeff{}"), ("a trailing comma", '{"__metadata__":{},}'),
                   ("a comment", "{}/**/"), ("single quotes", "{'__metadata__':{}}"),
                   ("no quotes", "{__metadata__:{}}"),
                   ("an object that does not end", '{"__metadata__":{}'), ("a wrong bracket", '{"__metadata__":{}]'),
                   ("UTF-16", '{"__metadata__":{}}'.encode("utf-16-le")), ("a form feed", "\f{}"),
                   ("a space beyond ASCII", "\u00a0{}")]:
    case(name + " as the header" if name in ("an array", "null", "a string", "a number", "true") else name, text,
         cause="header")
for name, text in [("a lone byte", b"\x80"), ("an overlong character", b"\xc0\x80"),
                   ("a truncated character", b"\xe2\x82"), ("an encoded surrogate", b"\xed\xa0\x80"),
                   ("a character beyond Unicode", b"\xf4\x90\x80\x80"),
                   ("a control character", b"\n"), ("a NUL", b"\0"), ("half a pair", b"\\ud800"),
                   ("the other half", b"\\udc00"), ("a pair reversed", b"\\udc00\\ud800"), ("no escape", b"\\x41")]:
    case(f"{name} in a name", one(name='"@"').encode().replace(b"@", text), 4, "header")
    case(f"{name} in metadata", b'{"__metadata__":{"a":"' + text + b'"}}', cause="header")
    case(f"{name} in what is ignored", one(extra=',"x":"@"').encode().replace(b"@", text), 4, "header")
case("an invalid number in what is ignored", one(extra=',"x":01'), 4, "header")
case("NaN in what is ignored", one(extra=',"x":NaN'), 4, "header")
case("a number too large in what is ignored", one(extra=',"x":1e999'), 4, us=True,
     why="numbers that nobody asks for are not converted here")
for n in 125, 126:
    case(f"{n} arrays in what is ignored", one(extra=',"x":')[:-2], 4, unit="[", times=n, after="]" * n + "}}",
         us=True, why="" if n == 125 else "there 127 levels are the limit, here 128")
case("127 arrays in what is ignored", one(extra=',"x":')[:-2], 4, unit="[", times=127, after="]" * 127 + "}}",
     cause="deep")
case("100000 arrays", "", unit="[", times=100000, cause="deep")
case("100000 objects", "", unit='{"a":', times=100000, cause="deep")
case("100000 arrays in what is ignored", one(extra=',"x":')[:-2], 4, unit="[", times=100000, cause="deep")
case("100000 arrays as a shape", '{"a":{"dtype":"F32","shape":', 4, unit="[", times=100000, cause="deep")

# names
case("a name of no characters", one(name='""'), 4)
case("a name with a NUL", one(name='"a\\u0000b"'), 4)
case("a name of 100000 bytes", '{"', 4, unit="x", times=100000, after='":' + info() + "}")
case("names apart by a NUL", two("[0,4]", "[4,8]", names=('"a"', '"a\\u0000"')), 8)
case("names apart by their normal form", two("[0,4]", "[4,8]", names=('"\u00e9"', '"e\u0301"')), 8)
case("two tensors of a name", two("[0,4]", "[4,8]", names=('"a"', '"a"')), 8, 'two members "a"')
case("two tensors of a name and place", two("[0,4]", "[0,4]", names=('"a"', '"a"')), 4, 'two members "a"', us=False,
     why=twice)
case("a name spelled twice", two("[0,4]", "[0,4]", names=('"a"', '"\\u0061"')), 4, 'two members "a"', us=False,
     why=twice)
case("a name twice, far apart", '{"b":' + info(offsets="[0,4]") + ',"a":' + info(offsets="[4,8]") + ',"c":'
     + info(offsets="[8,12]") + ',"b":' + info(offsets="[0,4]") + "}", 12, 'two members "b"', us=False, why=twice)
case("a name 1000 times", "{", 4, 'two members "a"', unit='"a":' + info() + ",", times=999, after='"a":' + info() + "}",
     us=False, why=twice)
case("a name twice, once of no tensor", '{"a":1,"a":' + info() + "}", 4, 'two members "a"')
case("two metadata", '{"__metadata__":{},"__metadata__":{}}', cause='two members "__metadata__"')
case("two metadata, once with an escape", '{"__metadata__":{},"\\u005f_metadata__":{}}',
     cause='two members "__metadata__"')
case("metadata with an escape", '{"\\u005f_metadata__":{"a":"b"}}')
case("metadata that are a tensor", '{"__metadata__":' + info() + "}", 4, "__metadata__")
case("a key twice in metadata", '{"__metadata__":{"a":"b","a":"c"}}', cause='two members "a"', us=False, why=twice)
for key, value in ("dtype", '"F32"'), ("shape", "[1]"), ("data_offsets", "[0,4]"):
    case(f"two {key}", one(extra=f',"{key}":{value}'), 4, f'two members "{key}"')
case("two dtype, once with an escape", one(extra=',"\\u0064type":"F32"'), 4, 'two members "dtype"')
case("two keys that are ignored", one(extra=',"x":1,"x":2'), 4, 'two members "x"', us=False, why=twice)
case("two keys within what is ignored", one(extra=',"x":{"y":1,"y":2}'), 4)

# metadata
for value in "null", "[]", '"a"', "1", "true":
    case(f"metadata that are {value}", '{"__metadata__":' + value + "}", cause="__metadata__", us=False,
         why="null stands for none there" if value == "null" else "")
for value in "null", "1", "true", "[]", '{"b":"c"}':
    case(f"metadata that hold {value}", '{"__metadata__":{"a":' + value + "}}", cause="__metadata__")
case("metadata that hold nothing", '{"__metadata__":{}}')
case("metadata after the tensors", good[:-1] + ',"__metadata__":{"a":""}}', 4)
case("wrong metadata after the tensors", good[:-1] + ',"__metadata__":{"a":1}}', 4, "__metadata__")
case("metadata named otherwise", '{"__Metadata__":{"a":"b"}}', cause='"__Metadata__": ')

# a tensor's object
for value in "null", "[]", '"a"', "1", "false":
    case(f"a tensor that is {value}", '{"a":' + value + "}", cause='"a": not an object')
case("a tensor that is a list", '{"a":["F32",[1],[0,4]]}', 4, '"a": not an object', us=False,
     why="Rust reads a list as a structure too")
case("a tensor of nothing", '{"a":{}}', cause='"a": ')
case("keys in another order", '{"a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}}', 4)
case("keys with escapes", '{"a":{"\\u0064type":"\\u004632","sh\\u0061pe":[1],"data_offset\\u0073":[0,4]}}', 4)
case("keys that are ignored", one(extra=',"x":1,"":[{"dtype":"F64"}],"Shape":[2],"strides":null,"offset":-1.5e-3'), 4)
case("keys that are ignored first", '{"a":{"x":{"shape":[7]},"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', 4)
case("no dtype", one(dtype=None), 4, '"a": dtype')
case("no shape", one(shape=None), 4, '"a": shape')
case("no data_offsets", one(offsets=None), 4, '"a": data_offsets')

# dtype
for value in "null", "1", "[]", '["F32"]', "{}", "true":
    case(f"dtype {value}", one(dtype=value), 4, '"a": dtype')
case("dtype as an object", one(dtype='{"F32":null}'), 4, '"a": dtype', us=False, why="Rust reads that as a name too")
for value in "f32", "F32 ", " F32", "", "F", "F3", "F322", "F128", "FLOAT", "float32", "F8", "F8_E4M3FN", "I4", \
        "bf16", "F32\\u0000", "U128", "C128", "__metadata__", "Bool", "bool":
    case(f"dtype '{value}'", one(dtype=f'"{value}"'), 4, '"a": dtype')
every = [("BOOL", 8), ("F4", 4), ("F6_E2M3", 6), ("F6_E3M2", 6), ("U8", 8), ("I8", 8), ("F8_E5M2", 8), ("F8_E4M3", 8),
         ("F8_E8M0", 8), ("F8_E4M3FNUZ", 8), ("F8_E5M2FNUZ", 8), ("I16", 16), ("U16", 16), ("F16", 16), ("BF16", 16),
         ("I32", 32), ("U32", 32), ("F32", 32), ("C64", 64), ("F64", 64), ("I64", 64), ("U64", 64)]
for kind, bits in every:
    case(f"four of {kind}", one(f'"{kind}"', "[4]", f"[0,{bits // 2}]"), bits // 2)
    case(f"four of {kind} in a byte too many", one(f'"{kind}"', "[4]", f"[0,{bits // 2 + 1}]"), bits // 2 + 1,
         '"a": dtype and shape')
    case(f"four of {kind} in a byte too few", one(f'"{kind}"', "[4]", f"[0,{bits // 2 - 1}]"), bits // 2 - 1,
         '"a": dtype and shape')
for kind, shape, size in ("F4", "[3]", 1), ("F4", "[3]", 2), ("F4", "[]", 1), ("F4", "[1]", 0), ("F6_E2M3", "[3]", 2), \
        ("F6_E2M3", "[2]", 1), ("F6_E3M2", "[1,2]", 2), ("F6_E3M2", "[5]", 4):
    case(f"{kind} {shape} in {size} bytes", one(f'"{kind}"', shape, f"[0,{size}]"), size, '"a": elements')
for kind, shape, size in ("F4", "[2]", 1), ("F4", "[0]", 0), ("F6_E2M3", "[2,2]", 3), ("F6_E3M2", "[8]", 6):
    case(f"{kind} {shape} in {size} bytes", one(f'"{kind}"', shape, f"[0,{size}]"), size)

# shape
for value in "null", "1", '"1"', "{}", '{"0":1}', "true", "[[1]]", '["1"]', "[null]", "[true]", "[{}]", "[-1]", \
        "[-0]", "[1.0]", "[1e0]", "[0.5]", "[1,1.0]", "[18446744073709551616]", "[1e30]", \
        "[100000000000000000000000000000001]":
    case(f"shape {value}", one(shape=value), 4, '"a": shape')
case("shape [-1, -1]", one(shape="[-1,-1]"), 4, '"a": shape')
case("rank 0", one(shape="[]"), 4)
case("rank 9", one(shape="[1,1,1,1,1,1,1,1,1]"), 4)
case("rank 100000", '{"a":{"dtype":"F32","shape":[', 4, unit="1,", times=99999, after='1],"data_offsets":[0,4]}}')
case("rank 100000 of zeros", '{"a":{"dtype":"F32","shape":[', unit="0,", times=99999, after='0],"data_offsets":[0,0]}}')
case("rank 100000 of twos", '{"a":{"dtype":"F32","shape":[', unit="2,", times=99999, after='2],"data_offsets":[0,0]}}',
     cause='"a": shape overflows')
case("size 0", one(shape="[0]", offsets="[0,0]"))
case("size 0 with bytes", one(shape="[0]"), 4, '"a": dtype and shape')
case("rank 0 without bytes", one(shape="[]", offsets="[0,0]"), 0, '"a": dtype and shape')
case("one element too many", one(shape="[2]"), 4, '"a": dtype and shape')
h, q = 2**63, 2**32
for text, opens in [(f"[{h},4,0]", False), (f"[0,{h},4]", OPENED_64), (f"[4,0,{h}]", OPENED_64),
                    (f"[{h},0]", OPENED_64),
                    (f"[0,{2**64 - 1}]", OPENED_64), (f"[0,{2**64 - 1},{2**64 - 1}]", OPENED_64), (f"[{h},2]", False),
                    (f"[{q},{q}]", False), (f"[{q},{q},0]", False), (f"[{q},{q - 1},0]", OPENED_64),
                    ("[65536,65536,0]", OPENED_64), ("[0,65536,65536]", True), ("[65536,65535,0]", True),
                    (f"[{q}]", False), (f"[0,{q}]", OPENED_64), (f"[0,{q - 1}]", True), (f"[{q + 1}]", False),
                    (f"[{2**64 - 1},{2**64 - 1}]", False), (f"[{2**64 - 1}]", False), (f"[{2**62}]", False),
                    (f"[{2**59}]", False), (f"[{2**59 - 1}]", False), (f"[0,{2**64}]", False),
                    ("[3,5,17,257,641,6700417]", False)]:
    case(f"shape {text} in no bytes", one(shape=text, offsets="[0,0]"), 0, '"a": ', us=opens)
for shape, kind, end in (f"[{2**61}]", "U8", 2**61), (f"[{2**60}]", "U8", 2**60), (f"[{2**58}]", "F64", 2**61), \
        (f"[{2**29}]", "U8", 2**29), (f"[{2**32}]", "U8", 2**32), (f"[{2**32 + 4}]", "U8", 4), \
        (f"[{2**64 - 1}]", "U8", 2**64 - 1):
    case(f"shape {shape} of {kind} to {end}", one(f'"{kind}"', shape, f"[0,{end}]"), 4, '"a": ')

# data_offsets
for value in "null", "0", '"0,4"', "{}", '{"0":0,"1":4}', "[]", "[0]", "[4]", "[0,4,4]", "[0,4,null]", "[[0,4]]", \
        '["0","4"]', "[null,4]", "[0,null]", "[-0,4]", "[-4,0]", "[0,-4]", "[0.0,4]", "[0,4.0]", "[0,4e0]", \
        "[0,0.4e1]", "[0,18446744073709551616]", "[0,18446744073709551620]", \
        "[18446744073709551616,18446744073709551620]", \
        "[0,1e300]":
    case(f"data_offsets {value}", one(offsets=value), 4, '"a": data_offsets')
case("data_offsets that end before they begin", one(offsets="[4,0]"), 4, '"a": data_offsets')
case("data_offsets reversed of size 0", one(shape="[0]", offsets="[4,0]"), 4, '"a": data_offsets')
case("data_offsets that wrap", one(offsets="[18446744073709551612,0]"), 4, '"a": data_offsets')
case("data_offsets at the end of numbers", one(offsets="[18446744073709551611,18446744073709551615]"), 4,
     '"a": data_offsets')
case("data_offsets 2^32 on", one(offsets="[4294967296,4294967300]"), 4, '"a": data_offsets')
case("data_offsets that end after the file", one(shape="[2]", offsets="[0,8]"), 4, '"a": data_offsets')
case("data_offsets after the file by one", one(), 3, '"a": data_offsets')
case("no data", one(), 0, '"a": data_offsets')
case("a byte after the data", one(), 5, "after the last tensor")
case("data without a tensor", "{}", 1, "after the last tensor")
case("data of metadata alone", '{"__metadata__":{}}', 8, "after the last tensor")
case("first offset not 0", one(offsets="[4,8]"), 8, '"a": ')
case("first offset 1", one(offsets="[1,5]"), 5, '"a": ')
case("two in order", two("[0,4]", "[4,8]"), 8)
case("two in the other order", two("[4,8]", "[0,4]"), 8)
case("a gap", two("[0,4]", "[8,12]"), 12, '"b": ')
case("a gap of one byte", two("[0,4]", "[5,9]"), 9, '"b": ')
case("a gap, in the other order", two("[5,9]", "[0,4]"), 9, '"a": ')
case("overlap", two("[0,8]", "[4,12]", "[2]", "[2]"), 12, '"b": ')
case("overlap by one byte", two("[0,4]", "[3,7]"), 7, '"b": ')
case("one within another", two("[0,12]", "[4,8]", "[3]", "[1]"), 12, '"b": ')
case("one at the end of another", two("[0,12]", "[8,12]", "[3]", "[1]"), 12, '"b": ')
case("one at the beginning of another", two("[0,12]", "[0,4]", "[3]", "[1]"), 12, '"a": ')
case("the same range", two("[0,4]", "[0,4]"), 4, "tensor")
case("the same range, and more data", two("[0,4]", "[0,4]"), 8, "tensor")
case("size 0 before", two("[0,4]", "[0,0]", "[1]", "[0]"), 4)
case("size 0 after", two("[0,4]", "[4,4]", "[1]", "[0]"), 4)
case("size 0 within", two("[0,4]", "[2,2]", "[1]", "[0]"), 4, '"b": ')
case("size 0 past the end", two("[0,4]", "[5,5]", "[1]", "[0]"), 4, '"b": ')
case("size 0 at a place of its own", one(shape="[0]", offsets="[4,4]"), 4, '"a": ')
case("size 0 far out", one(shape="[0]", offsets="[4,4]"), 0, '"a": ')
case("sizes 0 at one offset", '{"d":' + info(offsets="[4,8]") + "".join(
    f',"{n}":' + info(shape="[2,0]", offsets=f"[{o},{o}]")
    for n, o in (("e", 4), ("c", 0), ("a", 8), ("f", 4), ("b", 4))) + ',"g":' + info(offsets="[0,4]") + "}", 8)
case("sizes 0 alone", two("[0,0]", "[0,0]", "[0]", "[3,0]"))
order = [3, 0, 4, 1, 2]
case("five in any order", "{" + ",".join(f'"{"caebd"[n]}":' + info(shape=f"[{n}]", offsets=f"[{2 * n * (n - 1)},"
                                         f"{2 * n * (n + 1)}]") for n in order) + "}", 40)
case("unaligned tensors", '{"a":' + info('"U8"', "[3]", "[0,3]") + ',"b":' + info('"F64"', "[2]", "[3,19]") + "}", 19)

out.append("""\
/* A file: 8 bytes with the length of what follows, or another number; part 0, `times` part 1, part 2; `data` zeros. Of
   that the first `cut` bytes. `cause` is in the message if it is refused. Comments tell where the verdicts differ. */
enum { REFUSED, ACCEPTED, OPENED = ACCEPTED, OPENED_64 }; /* OPENED_64: where size_t has 64 bits */

#define LENGTH_OF_HEADER (UINT64_MAX - 1) /* no file asks for this one */
#define WHOLE SIZE_MAX

typedef struct golden_file {
    const char *name, *parts[3];
    size_t part_sizes[3], times;
    uint64_t length;
    size_t data, cut;
    int reference, us;
    const char *cause;
} golden_file;
""")
out.append("static const golden_file golden_files[] = {\n" + "\n".join(cases) + "\n};")
with open(os.path.join(here, "safetensors.h"), "w") as f:
    f.write("\n".join(out) + "\n")
