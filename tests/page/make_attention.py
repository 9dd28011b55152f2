"""Writes attention.json: what each head of the bundled model attends to, as Hugging Face's transformers has it.

    pip install torch==2.13.0 transformers==4.57.6 sentencepiece
    python tests/page/make_attention.py

For each sentence the greedy translation's tokens, and of encoder, decoder and cross-attention the weights of every layer and
head, times 10,000 and rounded."""
import json
import pathlib

import torch
from transformers import T5ForConditionalGeneration, T5Tokenizer

HERE = pathlib.Path(__file__).parent
MODEL = HERE.parent.parent / "examples" / "models" / "bundled"
SENTENCES = ["It is easy to translate languages with transformers", "the cat sees the dog", "Does she not want an apple?"]


def rounded(layers):
    """Layers of 1 x heads x queries x keys become lists of [layer][head][query][key]."""
    return [(10000 * layer[0].double()).round().int().tolist() for layer in layers]


def main():
    model = T5ForConditionalGeneration.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager").eval()
    tokenizer = T5Tokenizer.from_pretrained(MODEL, legacy=True)
    texts = []
    for sentence in SENTENCES:
        source = tokenizer("translate English to French: " + sentence, return_tensors="pt").input_ids
        with torch.no_grad():
            target = model.generate(source, num_beams=1, do_sample=False, max_length=100)
            out = model(input_ids=source, decoder_input_ids=target[:, :-1], output_attentions=True)
        texts.append({"sentence": sentence, "translation": tokenizer.decode(target[0], skip_special_tokens=True),
                      "source": tokenizer.convert_ids_to_tokens(source[0]),
                      "target": tokenizer.convert_ids_to_tokens(target[0][1:]),
                      "encoder": rounded(out.encoder_attentions), "decoder": rounded(out.decoder_attentions),
                      "cross": rounded(out.cross_attentions)})
    text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    (HERE / "attention.json").write_text(text.replace('{"sentence"', '\n{"sentence"') + "\n")


main()
