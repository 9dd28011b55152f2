"""Writes gguf/types.gguf beside itself: a row of each type of tensor that gguf.c reads, of random blocks; and
gguf/types.f32: the floats that the format's reference makes of them, one tensor after another in the order of names.

    python3 make_gguf.py        (gguf 0.19)"""
import os

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gguf")
TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K, Type.Q3_K,
         Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.MXFP4]


def blocks(random, kind):
    """256 elements: any bytes, but that scales are finite; of MXFP4 the least and the largest too."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    raw = random.integers(0, 256, (256 // elements, size), dtype=np.uint8)
    if kind == Type.MXFP4:
        raw[:4, 0] = 0, 1, 2, 254
        return raw.reshape(1, -1)
    if kind in (Type.F32, Type.F16, Type.BF16):
        numbers = random.normal(0, 3, 256).astype(np.float32)
        numbers[:8] = 0, -0.0, 1e-7, -6e-8, 65504, -1e-40, np.inf, -np.inf
        with np.errstate(over="ignore"):
            raw = gguf.quants.quantize(numbers.reshape(1, -1), kind)
        return raw
    places = {Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2), Type.Q6_K: (208,)}
    for place in places.get(kind, (0, 2) if kind in (Type.Q4_1, Type.Q5_1) else (0,)):
        halves = random.normal(0, 0.02, len(raw)).astype(np.float16)
        raw[:, place:place + 2] = halves.view(np.uint8).reshape(-1, 2)
    if elements == 32:
        raw[0, :2] = 1, 0  # the least number of 16 bits
    return raw.reshape(1, -1)


def main():
    os.makedirs(here, exist_ok=True)
    random = np.random.default_rng(2027)
    writer = gguf.GGUFWriter(os.path.join(here, "types.gguf"), "llama")
    for add, value in ((writer.add_uint8, 200), (writer.add_int8, -100), (writer.add_uint16, 60000),
                       (writer.add_int16, -30000), (writer.add_uint32, 4000000000), (writer.add_int32, -2000000000),
                       (writer.add_float32, 0.1), (writer.add_bool, True), (writer.add_string, "caf\u00e9 \u2581"),
                       (writer.add_uint64, 2**64 - 1), (writer.add_int64, -2**63), (writer.add_float64, 0.1)):
        add("test." + add.__name__[4:], value)
    writer.add_array("test.numbers", [1, -2, 3])
    writer.add_array("test.texts", ["", "a", "caf\u00e9"])
    writer.add_array("test.reals", [0.5, -0.25])
    wanted = {}
    for kind in TYPES:
        raw = blocks(random, kind)
        plain = kind in (Type.F32, Type.F16)
        writer.add_tensor(kind.name, raw, raw_dtype=None if plain else kind)
        with np.errstate(all="ignore"):
            wanted[kind.name] = gguf.quants.dequantize(raw, kind).astype(np.float32).reshape(-1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.concatenate([wanted[name] for name in sorted(wanted)]).astype("<f4").tofile(os.path.join(here, "types.f32"))


main()
