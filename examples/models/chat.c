#include "chat.h"
#include "text.h"
#include "unicode.h"

#include <string.h>

/* ==== The templates ============================================================================================== */

/* What stands around the texts of a conversation: {<s>} is a special token, {date}, {today} and {mode} are what fill_in
   says. A conversation is

       begin [system_before system system_after] then for each turn
       user_before user user_after answer_before answer answer_after

   and where the system text is SYSTEM_INSIDE, begin user_before [system_before ... system_after] user user_after ... A
   model is asked to write after "ask", which stands in place of answer_before. Past answers are what a template keeps
   of them: without thoughts, stripped. */
typedef struct family {
    const char *name, *begin, *system_before, *system_after;
    const char *system; /* by default; NULL: none, and then system_before and system_after are left out, too */
    const char *user_before, *user_after, *ask, *answer_before, *answer_after;
    const char *stop; /* ends an answer */
    int flags;
} family;

enum {
    SYSTEM_INSIDE = 1,
    STRIP_SYSTEM = 2,
    STRIP_USER = 4,
    STRIP_ANSWER = 8,
    NO_EMPTY_SYSTEM = 16, /* "" is as none given */
    FRESH = 32,           /* text after special tokens is encoded as if it began there: tags are text, as in training */
    SYSTEM_LAST = 64      /* with SYSTEM_INSIDE: in the last user's turn, not in the first */
};

/* clang-format off */
static const family families[CHAT_FAMILIES] = {
    {NULL, "", "", "", NULL, "", "", "", "", "", "", 0},
    {"llama2", "", "<<SYS>>\n", "\n<</SYS>>\n\n", NULL,
     "{<s>}[INST] ", " [/INST]", "", " ", " {</s>}", "</s>", SYSTEM_INSIDE | STRIP_USER | STRIP_ANSWER | FRESH},
    {"llama3", "{<|begin_of_text|>}",
     "{<|start_header_id|>}system{<|end_header_id|>}\n\n", "{<|eot_id|>}", NULL,
     "{<|start_header_id|>}user{<|end_header_id|>}\n\n",
     "{<|eot_id|>}{<|start_header_id|>}assistant{<|end_header_id|>}\n\n", "", "", "{<|eot_id|>}", "<|eot_id|>",
     STRIP_SYSTEM | STRIP_USER | STRIP_ANSWER},
    {"llama3.1", "{<|begin_of_text|>}",
     "{<|start_header_id|>}system{<|end_header_id|>}\n\nCutting Knowledge Date: December 2023\nToday Date: {date}\n\n",
     "{<|eot_id|>}", "",
     "{<|start_header_id|>}user{<|end_header_id|>}\n\n",
     "{<|eot_id|>}{<|start_header_id|>}assistant{<|end_header_id|>}\n\n", "", "", "{<|eot_id|>}", "<|eot_id|>",
     STRIP_SYSTEM | STRIP_USER | STRIP_ANSWER},
    {"mistral-v1", "{<s>}", "", "\n\n", NULL, "[INST] ", " [/INST]", "", "", "{</s>}", "</s>", SYSTEM_INSIDE | FRESH},
    {"mistral-v3", "{<s>}", "", "\n\n", NULL,
     "{[INST]} ", "{[/INST]}", "", " ", "{</s>}", "</s>", SYSTEM_INSIDE | SYSTEM_LAST | STRIP_ANSWER},
    {"mistral-nemo", "{<s>}", "", "\n\n", NULL, "{[INST]}", "{[/INST]}", "", "", "{</s>}", "</s>",
     SYSTEM_INSIDE | SYSTEM_LAST},
    {"mistral-v7", "{<s>}", "{[SYSTEM_PROMPT]}", "{[/SYSTEM_PROMPT]}", NULL,
     "{[INST]}", "{[/INST]}", "", "", "{</s>}", "</s>", 0},
    {"chatml", "", "{<|im_start|>}system\n", "{<|im_end|>}\n", NULL,
     "{<|im_start|>}user\n", "{<|im_end|>}\n{<|im_start|>}assistant\n", "", "", "{<|im_end|>}\n", "<|im_end|>", 0},
    {"qwen2", "", "{<|im_start|>}system\n", "{<|im_end|>}\n", "You are a helpful assistant.",
     "{<|im_start|>}user\n", "{<|im_end|>}\n{<|im_start|>}assistant\n", "", "", "{<|im_end|>}\n", "<|im_end|>", 0},
    {"qwen2.5", "", "{<|im_start|>}system\n", "{<|im_end|>}\n",
     "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
     "{<|im_start|>}user\n", "{<|im_end|>}\n{<|im_start|>}assistant\n", "", "", "{<|im_end|>}\n", "<|im_end|>", 0},
    {"qwen3", "", "{<|im_start|>}system\n", "{<|im_end|>}\n", NULL,
     "{<|im_start|>}user\n", "{<|im_end|>}\n{<|im_start|>}assistant\n", "{thought}", "", "{<|im_end|>}\n",
     "<|im_end|>", 0},
    {"smollm2", "", "{<|im_start|>}system\n", "{<|im_end|>}\n",
     "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
     "{<|im_start|>}user\n", "{<|im_end|>}\n{<|im_start|>}assistant\n", "", "", "{<|im_end|>}\n", "<|im_end|>", 0},
    {"smollm3", "",
     "{<|im_start|>}system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\n{today}Reasoning Mode: {mode}\n\n"
     "## Custom Instructions\n\n", "\n\n{<|im_end|>}\n", "",
     "{<|im_start|>}user\n", "{<|im_end|>}\n{<|im_start|>}assistant\n", "{thought}", "{thought}",
     "{<|im_end|>}\n", "<|im_end|>", NO_EMPTY_SYSTEM},
    {"gemma", "{<bos>}", "", "\n\n", NULL,
     "{<start_of_turn>}user\n", "{<end_of_turn>}\n{<start_of_turn>}model\n", "", "", "{<end_of_turn>}\n",
     "<end_of_turn>", SYSTEM_INSIDE | STRIP_USER | STRIP_ANSWER},
    {"gpt-oss",
     "{<|start|>}system{<|message|>}You are ChatGPT, a large language model trained by OpenAI.\n"
     "Knowledge cutoff: 2024-06\n{today}\nReasoning: medium\n\n"
     "# Valid channels: analysis, commentary, final. Channel must be included for every message.{<|end|>}",
     "{<|start|>}developer{<|message|>}# Instructions\n\n", "\n\n{<|end|>}", NULL,
     "{<|start|>}user{<|message|>}", "{<|end|>}{<|start|>}assistant", "", "{<|channel|>}final{<|message|>}",
     "{<|end|>}", "<|return|>", NO_EMPTY_SYSTEM},
    {"zephyr", "", "<|system|>\n", "{</s>}\n", NULL,
     "<|user|>\n", "{</s>}\n<|assistant|>\n", "", "", "{</s>}\n", "</s>", FRESH},
};

static const char smollm3_quick[] = "You are a helpful AI assistant named SmolLM, trained by Hugging Face.";
static const char smollm3_thorough[] =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face. Your role as an assistant involves "
    "thoroughly exploring questions through a systematic thinking process before providing the final precise and "
    "accurate solutions. This requires engaging in a comprehensive cycle of analysis, summarizing, exploration, "
    "reassessment, reflection, backtracking, and iteration to develop well-considered thinking process. Please "
    "structure your response into two main sections: Thought and Solution using the specified format: <think> Thought"
    " section </think> Solution section. In the Thought section, detail your reasoning process in steps. Each step "
    "should include detailed considerations such as analysing questions, summarizing relevant findings, brainstorming"
    " new ideas, verifying the accuracy of the current steps, refining any errors, and revisiting previous steps. In "
    "the Solution section, based on various attempts, explorations, and reflections from the Thought section, "
    "systematically present the final solution that you deem correct. The Solution section should be logical, "
    "accurate, and concise and detail necessary steps needed to reach the conclusion.";
/* clang-format on */

const char *chat_family_name(chat_family which)
{
    return which > CHAT_NONE && which < CHAT_FAMILIES ? families[which].name : NULL;
}

chat_family chat_family_named(const char *name)
{
    for (int i = CHAT_NONE + 1; i < CHAT_FAMILIES; i++)
        if (strcmp(name, families[i].name) == 0)
            return (chat_family)i;
    return CHAT_NONE;
}

/* ==== Which family =============================================================================================== */

/* The first of these whose words the template has, all three, and not the fourth. */
static chat_family family_of_template(const char *text)
{
    static const struct {
        chat_family family;
        const char *has[3], *lacks;
    } rules[] = {{CHAT_GPT_OSS, {"<|channel|>", "<|message|>", ""}, NULL},
                 {CHAT_LLAMA31, {"<|start_header_id|>", "Cutting Knowledge Date", ""}, NULL},
                 {CHAT_LLAMA3, {"<|start_header_id|>", "", ""}, NULL},
                 {CHAT_GEMMA, {"<start_of_turn>", "", ""}, NULL},
                 {CHAT_LLAMA2, {"[INST]", "<<SYS>>", ""}, NULL},
                 {CHAT_MISTRAL_V7, {"[INST]", "[SYSTEM_PROMPT]", ""}, NULL},
                 {CHAT_MISTRAL_V3, {"[INST] ", "[/INST]", ""}, NULL},
                 {CHAT_MISTRAL_NEMO, {"[INST]", "[/INST]", ""}, NULL},
                 {CHAT_SMOLLM3, {"<|im_start|>", "Reasoning Mode", "SmolLM"}, NULL},
                 {CHAT_SMOLLM2, {"<|im_start|>", "named SmolLM", ""}, NULL},
                 {CHAT_QWEN3, {"<|im_start|>", "enable_thinking", "<think>"}, NULL},
                 {CHAT_QWEN25, {"<|im_start|>", "created by Alibaba Cloud", ""}, NULL},
                 {CHAT_QWEN2, {"<|im_start|>", "You are a helpful assistant", ""}, NULL},
                 {CHAT_CHATML, {"<|im_start|>", "<|im_end|>", ""}, NULL},
                 {CHAT_ZEPHYR, {"<|user|>", "<|assistant|>", "eos_token"}, "<|end|>"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strstr(text, rules[i].has[0]) && strstr(text, rules[i].has[1]) && strstr(text, rules[i].has[2]) &&
            !(rules[i].lacks && strstr(text, rules[i].lacks)))
            return rules[i].family;
    return CHAT_NONE;
}

/* The first of these whose tokens there are, for a model of that type (NULL: of any). */
static chat_family family_of_tokens(const tokenizer *tokens, const char *type)
{
    static const struct {
        chat_family family;
        const char *type, *has[2];
    } rules[] = {{CHAT_GPT_OSS, NULL, {"<|channel|>", "<|message|>"}},
                 {CHAT_LLAMA31, NULL, {"<|start_header_id|>", "<|eom_id|>"}},
                 {CHAT_LLAMA3, NULL, {"<|start_header_id|>", "<|eot_id|>"}},
                 {CHAT_GEMMA, NULL, {"<start_of_turn>", "<end_of_turn>"}},
                 {CHAT_MISTRAL_V7, NULL, {"[SYSTEM_PROMPT]", "[INST]"}},
                 {CHAT_MISTRAL_NEMO, NULL, {"[INST]", "[/INST]"}},
                 {CHAT_SMOLLM3, "smollm3", {"<|im_start|>", "<|im_end|>"}},
                 {CHAT_QWEN3, "qwen3", {"<|im_start|>", "<|im_end|>"}},
                 {CHAT_QWEN25, "qwen2", {"<|im_start|>", "<|im_end|>"}},
                 {CHAT_CHATML, NULL, {"<|im_start|>", "<|im_end|>"}}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tokenizer_special(tokens, rules[i].has[0]) >= 0 && tokenizer_special(tokens, rules[i].has[1]) >= 0 &&
            (!rules[i].type || (type && strcmp(type, rules[i].type) == 0))) {
            if (rules[i].family == CHAT_MISTRAL_NEMO && !tokens->is_bpe)
                return CHAT_MISTRAL_V3;
            return rules[i].family;
        }
    return CHAT_NONE;
}

chat_family chat_family_of(const tokenizer *tokens, const char *model_type)
{
    chat_family found;
    if (!tokens->chat_template)
        return family_of_tokens(tokens, model_type);
    found = family_of_template(tokens->chat_template);
    if ((found == CHAT_MISTRAL_V3 || found == CHAT_MISTRAL_NEMO) && tokenizer_special(tokens, "[INST]") < 0)
        found = CHAT_MISTRAL_V1;
    return found;
}

const char *chat_date_format(const tokenizer *tokens, chat_family which)
{
    int asks = tokens->chat_template && strstr(tokens->chat_template, "strftime_now");
    if (which == CHAT_GPT_OSS)
        return "%Y-%m-%d";
    if (asks && which == CHAT_LLAMA31)
        return "%d %b %Y";
    return asks && which == CHAT_SMOLLM3 ? "%d %B %Y" : NULL;
}

size_t chat_stops(chat_family which, const tokenizer *tokens, int32_t stops[4])
{
    /* Llama 3.1 hands over to tools with <|eom_id|>, GPT-OSS with <|call|>: nobody answers here. */
    const char *names[3] = {families[which].stop, NULL, NULL};
    size_t count = 0;
    names[1] = which == CHAT_LLAMA31 ? "<|eom_id|>" : which == CHAT_GPT_OSS ? "<|call|>" : NULL;
    for (size_t i = 0; names[i]; i++)
        if ((stops[count] = tokenizer_special(tokens, names[i])) >= 0)
            count++;
    return count;
}

/* ==== Putting together =========================================================================================== */

static const char *result(chat *c)
{
    return c->failed ? c->error : NULL;
}

static void fail(chat *c, const char *message)
{
    if (!c->failed)
        snprintf(c->error, sizeof c->error, "%s", message);
    c->failed = 1;
}

/* Memory of *room items of `size` bytes at `items`, with room for `more` beyond `count`; NULL after an error. */
static void *make_room(chat *c, void *items, size_t size, size_t count, size_t more, size_t *room)
{
    items = text_grow(items, size, count, more, room);
    if (!items)
        fail(c, TEXT_NO_MEMORY);
    return items;
}

/* Appends to the last run, if both are text; else a run. */
static void put(chat *c, const char *text, size_t size, int special)
{
    chat_run *last = c->count > 0 ? &c->runs[c->count - 1] : NULL, *runs;
    char *longer;
    if (c->failed || size == 0)
        return;
    if (!(longer = (char *)make_room(c, c->text, 1, c->size, size + 1, &c->text_room)))
        return;
    c->text = longer;
    if (!last || last->special || special) {
        if (!(runs = (chat_run *)make_room(c, c->runs, sizeof *runs, c->count, 1, &c->run_room)))
            return;
        c->runs = runs;
        last = &c->runs[c->count++];
        last->start = c->size;
        last->size = 0;
        last->special = special;
    }
    memcpy(c->text + c->size, text, size);
    last->size += size;
    c->size += size;
    c->text[c->size] = 0;
}

static void put_text(chat *c, const char *text)
{
    put(c, text, strlen(text), 0);
}

/* Without thinking SmolLM3 and Qwen 3 read that they have thought nothing. */
static void fill_in(chat *c, const char *name, size_t size)
{
    int is_smollm = c->opts.family == CHAT_SMOLLM3;
    if (size == 4 && memcmp(name, "date", size) == 0) {
        put_text(c, c->opts.date ? c->opts.date : "26 Jul 2024");
    } else if (size == 5 && memcmp(name, "today", size) == 0) {
        if (!c->opts.date)
            return;
        put_text(c, is_smollm ? "Today Date: " : "Current date: ");
        put_text(c, c->opts.date);
        put_text(c, "\n");
    } else if (size == 4 && memcmp(name, "mode", size) == 0) {
        put_text(c, c->opts.no_thinking ? "/no_think" : "/think");
    } else if (size == 7 && memcmp(name, "thought", size) == 0) {
        if (c->opts.no_thinking)
            put_text(c, is_smollm ? "<think>\n\n</think>\n" : "<think>\n\n</think>\n\n");
    } else {
        put(c, name, size, 1);
    }
}

/* Appends words of a template. */
static void put_frame(chat *c, const char *words)
{
    while (*words) {
        size_t size = strcspn(words, "{");
        put(c, words, size, 0);
        words += size;
        if (*words == '{') {
            size = strcspn(words, "}");
            fill_in(c, words + 1, size - 1);
            words += size + 1;
        }
    }
}

/* What str.strip() of Python takes away, which is what the templates' trim does. */
static int is_blank(uint32_t code)
{
    return unicode_is_space(code) || (code >= 0x1c && code <= 0x1f);
}

static void strip(const char **text, size_t *size, int left, int right)
{
    uint32_t code;
    size_t length;
    while (left && *size > 0) {
        length = unicode_read(*text, *size, &code);
        if (!is_blank(code))
            break;
        *text += length;
        *size -= length;
    }
    while (right && *size > 0) {
        length = 1;
        while (length < *size && length < 4 && ((unsigned char)(*text)[*size - length] & 0xc0) == 0x80)
            length++;
        if (unicode_read(*text + *size - length, length, &code) != length || !is_blank(code))
            break;
        *size -= length;
    }
}

/* ---- the system text ---- */

/* SmolLM3 reads /think and /no_think in a system text as options. Returns a copy without them, to be freed. */
static char *take_options(chat *c, const char *text)
{
    size_t room = strlen(text) + 1, used = 0;
    char *copy = (char *)malloc(room), *from;
    if (!copy) {
        fail(c, TEXT_NO_MEMORY);
        return NULL;
    }
    memcpy(copy, text, room);
    if (strstr(copy, "/no_think"))
        c->opts.no_thinking = 1;
    else if (strstr(copy, "/think"))
        c->opts.no_thinking = 0;
    for (int i = 0; i < 2; i++) {
        const char *word = i ? "/think" : "/no_think";
        for (from = copy, used = 0; *from;) {
            if (strncmp(from, word, strlen(word)) == 0)
                from += strlen(word);
            else
                copy[used++] = *from++;
        }
        copy[used] = 0;
    }
    return copy;
}

static void put_system(chat *c)
{
    const family *f = &families[c->opts.family];
    const char *text = c->opts.system, *at;
    char *copy = NULL;
    size_t size;
    if (text && c->opts.family == CHAT_SMOLLM3) {
        text = copy = take_options(c, text);
        if (!copy)
            return;
    }
    at = text ? text : "";
    size = strlen(at);
    strip(&at, &size, f->flags & STRIP_SYSTEM, (f->flags & STRIP_SYSTEM) || copy);
    if (!text || (size == 0 && (f->flags & NO_EMPTY_SYSTEM))) {
        at = f->system;
        if (at && c->opts.family == CHAT_SMOLLM3)
            at = c->opts.no_thinking ? smollm3_quick : smollm3_thorough;
        size = at ? strlen(at) : 0;
    }
    if (at) {
        put_frame(c, f->system_before);
        put(c, at, size, 0);
        put_frame(c, f->system_after);
    }
    free(copy);
}

/* ---- messages ---- */

/* The text of a message; c->said is NULL while all of them are empty. */
static const char *said_in(const chat *c, const chat_message *m)
{
    return c->said ? c->said + m->start : "";
}

static void put_user(chat *c, const chat_message *m, int has_system)
{
    const family *f = &families[c->opts.family];
    const char *text = said_in(c, m);
    size_t size = m->size;
    /* Llama 2's template strips the text together with the system text that it has put in front. */
    int joined = has_system && c->opts.family == CHAT_LLAMA2 && c->opts.system;
    put_frame(c, f->user_before);
    if (has_system)
        put_system(c);
    strip(&text, &size, (f->flags & STRIP_USER) && !joined, f->flags & STRIP_USER);
    put(c, text, size, 0);
    put_frame(c, f->user_after);
}

static void drop_lines(const char **text, size_t *size, int wanted)
{
    for (; wanted && *size > 0 && **text == '\n'; (*size)--)
        (*text)++;
}

/* Moves to where the answer of Qwen 3 begins, after its thoughts, if there are any. */
static void drop_thoughts(const char **text, size_t *size)
{
    static const char end[] = "</think>";
    const size_t length = sizeof end - 1;
    size_t begin = 0;
    for (size_t i = 0; i + length <= *size; i++)
        if (memcmp(*text + i, end, length) == 0)
            begin = i + length;
    *text += begin;
    *size -= begin;
    drop_lines(text, size, begin > 0);
}

static void put_answer(chat *c, const chat_message *m)
{
    const family *f = &families[c->opts.family];
    const char *text = said_in(c, m);
    size_t size = m->size;
    put_frame(c, f->answer_before);
    if (c->opts.family == CHAT_QWEN3)
        drop_thoughts(&text, &size);
    drop_lines(&text, &size, c->opts.family == CHAT_SMOLLM3);
    strip(&text, &size, f->flags & STRIP_ANSWER, f->flags & STRIP_ANSWER);
    put(c, text, size, 0);
    put_frame(c, f->answer_after);
}

const char *chat_render(chat *c)
{
    const family *f = &families[c->opts.family];
    size_t system = f->flags & SYSTEM_LAST && c->message_count > 0 ? c->message_count - 1 : 0;
    c->size = c->count = 0;
    put_frame(c, f->begin);
    if (!(f->flags & SYSTEM_INSIDE))
        put_system(c);
    for (size_t i = 0; i < c->message_count; i++) {
        if (c->messages[i].is_answer)
            put_answer(c, &c->messages[i]);
        else
            put_user(c, &c->messages[i], f->flags & SYSTEM_INSIDE && i == system);
    }
    put_frame(c, f->ask);
    return result(c);
}

/* ==== The conversation =========================================================================================== */

const char *chat_begin(chat *c, const chat_opts *opts)
{
    memset(c, 0, sizeof *c);
    c->opts = *opts;
    if (!chat_family_name(opts->family))
        fail(c, "no chat template is known for this model");
    return result(c);
}

void chat_end(chat *c)
{
    free(c->text);
    free(c->runs);
    free(c->messages);
    free(c->said);
    c->text = c->said = NULL;
    c->runs = NULL;
    c->messages = NULL;
    c->size = c->count = c->message_count = c->said_size = 0;
    c->text_room = c->run_room = c->message_room = c->said_room = 0;
}

/* Appends to the last message. */
static void say(chat *c, const char *text, size_t size)
{
    char *longer;
    if (c->failed || size == 0 || !(longer = (char *)make_room(c, c->said, 1, c->said_size, size, &c->said_room)))
        return;
    c->said = longer;
    memcpy(c->said + c->said_size, text, size);
    c->said_size += size;
    c->messages[c->message_count - 1].size += size;
}

static const char *add_message(chat *c, int is_answer, const char *text, size_t size)
{
    chat_message *m = NULL;
    if (!c->failed)
        m = (chat_message *)make_room(c, c->messages, sizeof *m, c->message_count, 1, &c->message_room);
    if (!m)
        return result(c);
    c->messages = m;
    m += c->message_count++;
    m->is_answer = is_answer;
    m->start = c->said_size;
    m->size = 0;
    say(c, text, size);
    return result(c);
}

const char *chat_user(chat *c, const char *text, size_t size)
{
    return add_message(c, 0, text, size);
}

const char *chat_assistant(chat *c, const char *text, size_t size)
{
    return add_message(c, 1, text, size);
}

/* ---- an answer, token by token ---- */

enum { HEADER, CHANNEL, FINAL, THOUGHT }; /* what GPT-OSS is writing; the others only write what is FINAL */

const char *chat_answer(chat *c)
{
    c->part = c->opts.family == CHAT_GPT_OSS ? HEADER : FINAL;
    c->channel_size = 0;
    return add_message(c, 1, NULL, 0);
}

static int is_token(const tokenizer *tokens, int32_t id, const char *name)
{
    return id >= 0 && id == tokenizer_special(tokens, name);
}

/* GPT-OSS answers in messages <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
   Returns whether a token is one of these tags. */
static int take_tag(chat *c, const tokenizer *tokens, int32_t id)
{
    static const char final[] = "final";
    const size_t size = sizeof final - 1;
    if (is_token(tokens, id, "<|channel|>")) {
        c->part = CHANNEL;
        c->channel_size = 0;
    } else if (is_token(tokens, id, "<|message|>")) {
        int is_final = c->channel_size >= size && !memcmp(c->channel, final, size) &&
                       (c->channel_size == size || c->channel[size] == ' '); /* or " json" */
        c->part = is_final || c->part == HEADER ? FINAL : THOUGHT;
    } else if (is_token(tokens, id, "<|end|>") || is_token(tokens, id, "<|start|>")) {
        c->part = HEADER;
    } else {
        return 0;
    }
    return 1;
}

int chat_hear(chat *c, const tokenizer *tokens, int32_t id, const char *bytes, size_t size)
{
    if (c->opts.family == CHAT_GPT_OSS && take_tag(c, tokens, id))
        return 0;
    if (c->part == CHANNEL)
        for (size_t i = 0; i < size && c->channel_size < sizeof c->channel; i++)
            c->channel[c->channel_size++] = bytes[i];
    if (c->part == FINAL)
        say(c, bytes, size);
    return c->part == FINAL;
}

/* ==== Tokens ===================================================================================================== */

/* The id of a run that is a special token; -1 after an error. */
static int32_t special_id(chat *c, const tokenizer *tokens, chat_run run, size_t vocab_size)
{
    const char *kind = families[c->opts.family].name;
    char name[64];
    int32_t id;
    memcpy(name, c->text + run.start, run.size);
    name[run.size] = 0;
    id = tokenizer_special(tokens, name);
    if (id >= 0 && (size_t)id < vocab_size)
        return id;
    if (id < 0)
        snprintf(c->error, sizeof c->error, "the chat template %.20s needs a token %.30s, which the tokenizer lacks",
                 kind, name);
    else
        snprintf(c->error, sizeof c->error,
                 "the chat template %.20s needs a token %.30s, which is %ld: config.json has a vocab_size of %lu", kind,
                 name, (long)id, (unsigned long)vocab_size);
    c->failed = 1;
    return -1;
}

const char *chat_check(chat *c, const tokenizer *tokens, size_t vocab_size)
{
    chat_user(c, NULL, 0);
    chat_assistant(c, NULL, 0);
    chat_user(c, NULL, 0);
    chat_render(c);
    for (size_t i = 0; i < c->count && !c->failed; i++)
        if (c->runs[i].special)
            special_id(c, tokens, c->runs[i], vocab_size);
    c->message_count = 0;
    return result(c);
}

const char *chat_encode(chat *c, const tokenizer *tokens, tokenizer_ids *ids)
{
    int fresh = families[c->opts.family].flags & FRESH;
    for (size_t i = 0; i < c->count && !c->failed; i++) {
        const char *text = c->text + c->runs[i].start, *error;
        size_t size = c->runs[i].size;
        if (c->runs[i].special) {
            int32_t id = special_id(c, tokens, c->runs[i], SIZE_MAX);
            if (id < 0)
                break;
            error = tokenizer_push(ids, &id, 1);
        } else {
            error = tokenizer_encode(tokens, text, size, i > 0 && !fresh, ids);
        }
        if (error)
            fail(c, error);
    }
    return result(c);
}
