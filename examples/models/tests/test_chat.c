/* Chat templates: conversations as the published templates render them, tokens, families, and what goes wrong. */
#include "examples/models/chat.h"

#include "test.h"

/* ---- texts ---- */

typedef struct chat_golden {
    const char *name; /* of the template */
    chat_family family;
    int no_thinking;
    const char *date;
    size_t conversation;
    const char *system, *text;
} chat_golden;

#include "golden/chat.h"

static const char *converse(chat *c, const char *const *turns)
{
    const char *error = NULL;
    for (size_t i = 0; turns[i] && !error; i++)
        error = i % 2 ? chat_assistant(c, turns[i], strlen(turns[i])) : chat_user(c, turns[i], strlen(turns[i]));
    return error ? error : chat_ask(c);
}

static void renders(const chat_opts *opts, const char *const *turns, const char *want)
{
    chat c;
    size_t size = 0;
    if (CHECK(chat_begin(&c, opts) == NULL) && CHECK(converse(&c, turns) == NULL)) {
        if (!CHECK(strcmp(c.text, want) == 0))
            fprintf(stderr, "    is   [%s]\n    want [%s]\n", c.text, want);
        for (size_t i = 0; i < c.count; i++) { /* runs follow one another, and text is never two in a row */
            CHECK(c.runs[i].start == size && c.runs[i].size > 0);
            CHECK(i == 0 || c.runs[i].special || c.runs[i - 1].special);
            size += c.runs[i].size;
        }
        CHECK(size == c.size);
    }
    chat_end(&c);
}

/* Rendered by transformers from the published templates: Llama 3.1, 3.2, 3.3, Qwen 2.5 and 3, Gemma 2, Mistral Nemo and
   Small 3.2, SmolLM3, GPT-OSS. */
TEST(chat_transformers)
{
    for (size_t i = 0; i < sizeof chat_goldens / sizeof *chat_goldens; i++) {
        const chat_golden *g = &chat_goldens[i];
        chat_opts opts = {CHAT_NONE, NULL, 0, NULL};
        opts.family = g->family;
        opts.system = g->system;
        opts.no_thinking = g->no_thinking;
        opts.date = g->date;
        test_case("%s, no_thinking %d, date %s, conversation %lu, system %s", g->name, g->no_thinking,
                  g->date ? g->date : "none", (unsigned long)g->conversation, g->system ? g->system : "none");
        renders(&opts, chat_conversations[g->conversation], g->text);
    }
}

/* Written down from what their publishers say: Llama 2, Llama 3.0, Mistral v1 and v3, Qwen 2, Qwen 2.5's relatives that
   write ChatML, SmolLM2, Gemma 3, TinyLlama. No rendering of another program stands behind these. */
TEST(chat_documented)
{
    static const char *const one[] = {" Hi! ", NULL}, *const two[] = {"Hi!", "Hello.", "Bye.", NULL};
    static const struct {
        chat_family family;
        const char *system, *one, *two;
    } cases[] = {
        {CHAT_LLAMA2, NULL, "<s>[INST] Hi! [/INST]", "<s>[INST] Hi! [/INST] Hello. </s><s>[INST] Bye. [/INST]"},
        {CHAT_LLAMA2, "Be kind.", "<s>[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\n Hi! [/INST]",
         "<s>[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHi! [/INST] Hello. </s><s>[INST] Bye. [/INST]"},
        {CHAT_LLAMA3, NULL,
         "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi!<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\n",
         "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi!<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\nBye.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
        {CHAT_LLAMA3, " Be kind. ",
         "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\nHi!<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
         NULL},
        {CHAT_MISTRAL_V1, NULL, "<s>[INST]  Hi!  [/INST]", "<s>[INST] Hi! [/INST]Hello.</s>[INST] Bye. [/INST]"},
        {CHAT_MISTRAL_V1, "Be kind.", NULL, "<s>[INST] Be kind.\n\nHi! [/INST]Hello.</s>[INST] Bye. [/INST]"},
        {CHAT_MISTRAL_V3, NULL, "<s>[INST]  Hi! [/INST]", "<s>[INST] Hi![/INST] Hello.</s>[INST] Bye.[/INST]"},
        {CHAT_MISTRAL_V3, "Be kind.", "<s>[INST] Be kind.\n\n Hi! [/INST]", NULL},
        {CHAT_CHATML, NULL, "<|im_start|>user\n Hi! <|im_end|>\n<|im_start|>assistant\n", NULL},
        {CHAT_QWEN2, NULL,
         "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
         "<|im_start|>user\n Hi! <|im_end|>\n<|im_start|>assistant\n",
         "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n"
         "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye.<|im_end|>\n<|im_start|>assistant\n"},
        {CHAT_SMOLLM2, NULL,
         "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
         "<|im_start|>user\n Hi! <|im_end|>\n<|im_start|>assistant\n",
         NULL},
        {CHAT_SMOLLM2, "Be kind.",
         "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n Hi! <|im_end|>\n<|im_start|>assistant\n", NULL},
        {CHAT_GEMMA, "Be kind.\n", "<bos><start_of_turn>user\nBe kind.\n\n\nHi!<end_of_turn>\n<start_of_turn>model\n",
         "<bos><start_of_turn>user\nBe kind.\n\n\nHi!<end_of_turn>\n<start_of_turn>model\nHello.<end_of_turn>\n"
         "<start_of_turn>user\nBye.<end_of_turn>\n<start_of_turn>model\n"},
        {CHAT_ZEPHYR, "Be kind.", "<|system|>\nBe kind.</s>\n<|user|>\n Hi! </s>\n<|assistant|>\n",
         "<|system|>\nBe kind.</s>\n<|user|>\nHi!</s>\n<|assistant|>\nHello.</s>\n<|user|>\nBye.</s>\n<|assistant|>\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        chat_opts opts = {CHAT_NONE, NULL, 0, NULL};
        opts.family = cases[i].family;
        opts.system = cases[i].system;
        test_case("%s, system %s", chat_family_name(opts.family), opts.system ? opts.system : "none");
        if (cases[i].one)
            renders(&opts, one, cases[i].one);
        if (cases[i].two)
            renders(&opts, two, cases[i].two);
    }
}

/* The dates of SmolLM3 and Llama 3.1. */
TEST(chat_dates)
{
    static const char *const turns[] = {"Hi!", NULL};
    chat_opts opts = {CHAT_SMOLLM3, "Be kind.", 1, "24 November 2026"};
    renders(&opts, turns,
            "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nToday Date: 24 November 2026\n"
            "Reasoning Mode: /no_think\n\n## Custom Instructions\n\nBe kind.\n\n<|im_end|>\n"
            "<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n");
}

/* An answer that the model has written itself: only its end is appended. */
TEST(chat_turns)
{
    static const struct {
        chat_family family;
        const char *second;
    } cases[] = {{CHAT_LLAMA2, "</s><s>[INST] Bye. [/INST]"},
                 {CHAT_MISTRAL_V3, "</s>[INST] Bye.[/INST]"},
                 {CHAT_GPT_OSS, "<|end|><|start|>user<|message|>Bye.<|end|><|start|>assistant"},
                 {CHAT_QWEN25, "<|im_end|>\n<|im_start|>user\nBye.<|im_end|>\n<|im_start|>assistant\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        chat_opts opts = {CHAT_NONE, NULL, 0, NULL};
        chat c;
        size_t first;
        opts.family = cases[i].family;
        test_case("%s", chat_family_name(opts.family));
        CHECK(chat_begin(&c, &opts) == NULL && chat_user(&c, "Hi!", 3) == NULL && chat_ask(&c) == NULL);
        first = c.size;
        CHECK(chat_answered(&c) == NULL && chat_user(&c, "Bye.", 4) == NULL && chat_ask(&c) == NULL);
        CHECK(strcmp(c.text + first, cases[i].second) == 0);
        chat_end(&c);
    }
}
