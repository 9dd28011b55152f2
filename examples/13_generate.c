/* Texts continued by the decoders that everybody runs: Llama, Mistral, Qwen, Gemma, SmolLM. The model is a
   directory as it is published, with config.json, model.safetensors (whole or in shards) and tokenizer.json or
   tokenizer.model; or a GGUF.

       cc -O2 -o 13_generate 13_generate.c models/decoder.c models/layers.c models/checkpoint.c models/json.c \
           models/safetensors.c models/gguf*.c models/tokenizer.c models/bpe*.c models/patterns.c \
           models/sentencepiece.c models/unicode.c models/jinja.c models/chat.c models/sample.c -lm -lpthread
       13_generate SmolLM2-135M "Once upon a time"
       13_generate --chat --system "You are a pirate." SmolLM2-135M-Instruct "Who are you?"
       13_generate --chat Qwen3-0.6B

   What is written follows the prompt, which is not repeated. Exit status: 0, 1 when a file, a text or memory fails or
   the context is full, 2 when the command line is wrong. */
#define _DEFAULT_SOURCE 1 /* clock_gettime with -std=c99 */
#define ATTN_THREADS
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "models/program.h"
#include "models/chat.h"
#include "models/decoder.h"
#include "models/sample.h"

enum {
    NOT_GIVEN = 1000,     /* a real that no option can have */
    CHUNK = 512,          /* tokens of a prompt that are read at once: more take memory, and are not faster */
    USUAL_CONTEXT = 4096, /* tokens of a text, unless --context says more */
    STOPS = 20            /* eos_ids and the family's own */
};

typedef struct options {
    const char *directory, *prompt_ids, *system, *family, *date, *cache, *stop;
    char **texts;
    size_t count, top_k, seed, max_tokens, context, threads; /* count of texts: 0 for the input */
    double temperature, top_p, repetition_penalty;
    int help, chat, no_thinking, template_only, greedy, ids, timing;
} options;

/* What has been generated and not written: the bytes of a character that is not whole, or what may become --stop. */
typedef struct waiting {
    char *bytes; /* never NULL while there is a text */
    size_t size, room;
    int terminal; /* whether stdout is one */
} waiting;

typedef struct program {
    options opts;
    decoder model;
    decoder_text text;
    tokenizer tokens;
    chat talk;
    sampler draw;
    tokenizer_ids ids, rendered; /* of the text: the model has read the first text.length; of a conversation anew */
    waiting out;
    float *logits;
    int32_t stops[STOPS];
    size_t stop_count, context;
    char error[256];
    size_t read, written; /* tokens, and seconds that they took */
    double reading, writing;
    int alone, begins; /* nothing stands before what is written; nothing has been: some tokenizers drop a space there */
} program;

/* ==== The command line =========================================================================================== */

static const char help[] = "usage: 13_generate [OPTION...] MODEL [TEXT]\n"
                           "Continues TEXT, or the input, with a decoder: Llama, Mistral, Qwen, Gemma,\n"
                           "SmolLM. MODEL is a directory (config.json, model.safetensors,\n"
                           "tokenizer.json or tokenizer.model) or a GGUF.\n"
                           "  --chat                 each TEXT, or each line of the input, is the user's\n"
                           "                         turn of a conversation; thoughts of GPT-OSS are not\n"
                           "                         printed, those of Qwen 3 and SmolLM3 are\n"
                           "  --system TEXT          what the conversation begins with, instead of the\n"
                           "                         model's own\n"
                           "  --family NAME          its template: llama2 llama3 llama3.1 mistral-v1\n"
                           "                         mistral-v3 mistral-nemo mistral-v7 mistral-v7-spm\n"
                           "                         chatml qwen2 qwen2.5 qwen3 smollm2 smollm3 gemma\n"
                           "                         gpt-oss zephyr (the model's own)\n"
                           "  --no-thinking          Qwen 3, SmolLM3 and the like are to answer at once\n"
                           "  --date TEXT            today, for templates that tell it (as these write it)\n"
                           "  --template             prints what the model would read first, and ends; needs\n"
                           "                         no weights\n"
                           "  --greedy               always the likeliest token, as --temperature 0\n"
                           "  --temperature X        0 to 100; above 1 evens the odds (*)\n"
                           "  --top-k N              of the N likeliest tokens; 0: of all (*)\n"
                           "  --top-p X              of the likeliest whose probabilities reach X (*)\n"
                           "  --repetition-penalty X above 1: against tokens that were there; 1: none (*)\n"
                           "                         (*: what the model's generation_config.json says)\n"
                           "  --seed N               the same seed gives the same text (another each time)\n"
                           "  --max-tokens N         at most so many, in each answer (256)\n"
                           "  --stop TEXT            stops where this would be written\n"
                           "  --context N            room for so many tokens (4096, or what the model was\n"
                           "                         trained for, if less)\n"
                           "  --cache TYPE           of keys and values: f32, f16, bf16, i8 (f32)\n"
                           "  --ids                  ids of tokens instead of text\n"
                           "  --prompt-ids \"N N...\"  ids instead of TEXT\n"
                           "  --threads N            up to 1024; 0: one for each processor (0)\n"
                           "  --timing               tokens per second, memory and the seed, on stderr\n"
                           "  --help                 this text\n"
                           "  --                     what follows is no option\n"
                           "Exit status: 0; 1 when a file, a text or memory fails or the context is full;\n"
                           "2 when the command line is wrong.";

/* The type that --cache names; ATTN_F64 if it is none of them. */
static attn_dtype cache_type(const char *name)
{
    static const char *const names[] = {"f32", "f16", "bf16", "i8"};
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return types[i];
    return ATTN_F64;
}

static int not_from(const char *name, double value, double least, double most)
{
    char text[64];
    if ((value >= least && value <= most) || value >= NOT_GIVEN)
        return 0;
    snprintf(text, sizeof text, " must be from %g to %g", least, most);
    return program_wrong(name, NULL, text);
}

/* What the options ask for together. */
static int settle(const options *o)
{
    int status = not_from("--temperature", o->temperature, 0, 100);
    status = status ? status : not_from("--top-p", o->top_p, 0, 1);
    status = status ? status : not_from("--repetition-penalty", o->repetition_penalty, 0.01, 100);
    if (status)
        return status;
    if (!o->directory)
        return program_wrong("the model is missing", NULL, NULL);
    if (o->greedy && o->temperature > 0 && o->temperature < NOT_GIVEN)
        return program_wrong("--greedy is temperature 0, --temperature says more", NULL, NULL);
    if (!o->chat && (o->system || o->family || o->date || o->no_thinking || o->template_only))
        return program_wrong("--system, --family, --date, --no-thinking and --template need --chat", NULL, NULL);
    if (o->family && chat_family_named(o->family) == CHAT_NONE)
        return program_wrong("--family: there is no template", o->family, NULL);
    if (o->prompt_ids && (o->chat || o->count > 0))
        return program_wrong("--prompt-ids stands in place of TEXT and --chat", NULL, NULL);
    if (!o->chat && o->count > 1)
        return program_wrong("more than one TEXT: put it in quotes", NULL, NULL);
    if (cache_type(o->cache) == ATTN_F64)
        return program_wrong("--cache:", o->cache, " is not f32, f16, bf16 or i8");
    if (o->stop && !*o->stop)
        return program_wrong("--stop: the text is missing", NULL, NULL);
    return 0;
}

/* Reads the command line; what is no option moves to the front of argv. Returns 0 or the exit status. */
static int read_options(options *o, int argc, char **argv)
{
    const program_option table[] = {{"--chat", PROGRAM_FLAG, &o->chat, 0, 0},
                                    {"--system", PROGRAM_TEXT, &o->system, 0, 0},
                                    {"--family", PROGRAM_TEXT, &o->family, 0, 0},
                                    {"--no-thinking", PROGRAM_FLAG, &o->no_thinking, 0, 0},
                                    {"--date", PROGRAM_TEXT, &o->date, 0, 0},
                                    {"--template", PROGRAM_FLAG, &o->template_only, 0, 0},
                                    {"--greedy", PROGRAM_FLAG, &o->greedy, 0, 0},
                                    {"--temperature", PROGRAM_REAL, &o->temperature, 0, 0},
                                    {"--top-k", PROGRAM_SIZE, &o->top_k, 0, 1000000000},
                                    {"--top-p", PROGRAM_REAL, &o->top_p, 0, 0},
                                    {"--repetition-penalty", PROGRAM_REAL, &o->repetition_penalty, 0, 0},
                                    {"--seed", PROGRAM_SIZE, &o->seed, 0, 4000000000u},
                                    {"--max-tokens", PROGRAM_SIZE, &o->max_tokens, 1, 1000000000},
                                    {"--stop", PROGRAM_TEXT, &o->stop, 0, 0},
                                    {"--context", PROGRAM_SIZE, &o->context, 1, 1000000000},
                                    {"--cache", PROGRAM_TEXT, &o->cache, 0, 0},
                                    {"--ids", PROGRAM_FLAG, &o->ids, 0, 0},
                                    {"--prompt-ids", PROGRAM_TEXT, &o->prompt_ids, 0, 0},
                                    {"--threads", PROGRAM_SIZE, &o->threads, 0, 1024},
                                    {"--timing", PROGRAM_FLAG, &o->timing, 0, 0},
                                    {"--help", PROGRAM_HELP, &o->help, 0, 0}};
    int operands, status;
    o->temperature = o->top_p = o->repetition_penalty = NOT_GIVEN;
    o->top_k = o->seed = SIZE_MAX;
    o->max_tokens = 256;
    o->cache = "f32";
    status = program_options(table, sizeof table / sizeof *table, argc, argv, &operands);
    if (status || o->help)
        return status;
    o->directory = operands ? argv[0] : NULL;
    o->texts = argv + 1;
    o->count = operands ? (size_t)operands - 1 : 0;
    return settle(o);
}

/* ==== Text, as it comes ========================================================================================== */

/* Writes a character; to a terminal, a space for what it would obey. */
static void put_character(const waiting *w, const char *bytes, size_t size)
{
    int control = bytes[0] != '\n' && bytes[0] != '\t' && shown_is_control(bytes, size);
    if (w->terminal && control)
        putchar(' ');
    else
        fwrite(bytes, 1, size, stdout);
}

/* Writes the first `size` bytes of what waits, whole characters only, and U+FFFD for what is no character and never
   will be; at the end of a text for what is none, too. */
static void put_waiting(waiting *w, size_t size, int ended)
{
    size_t at = 0;
    while (at < size) {
        int whole, wrong;
        size_t length = shown_part(w->bytes + at, size - at, &whole, &wrong);
        if (whole)
            put_character(w, w->bytes + at, length);
        else if (wrong || ended)
            fputs("\xef\xbf\xbd", stdout);
        else
            break;
        at += length;
    }
    w->size -= at;
    memmove(w->bytes, w->bytes + at, w->size);
}

/* How many of the bytes that wait are surely no part of `stop`; *found: it is there, after those. */
static size_t before_stop(const waiting *w, const char *stop, int *found)
{
    size_t length = stop ? strlen(stop) : 0, at = 0;
    *found = 0;
    if (!stop)
        return w->size;
    for (; at < w->size; at++) {
        size_t rest = w->size - at, common = rest < length ? rest : length;
        if (memcmp(w->bytes + at, stop, common) == 0) {
            *found = common == length;
            break;
        }
    }
    return at;
}

/* Takes in a token's bytes and writes what can be written: of an answer, what is for the user. Returns NULL or what is
   wrong; *stopped: --stop came. */
static const char *put_token(program *p, int32_t id, int first, int *stopped)
{
    waiting *w = &p->out;
    size_t size, sure;
    *stopped = 0;
    if (p->opts.ids)
        printf("%s%ld", first ? "" : " ", (long)id);
    size = tokenizer_piece(&p->tokens, id, p->begins, w->bytes + w->size, w->room - w->size);
    if (size > w->room - w->size) {
        size_t room = 2 * (w->size + size) + 64;
        char *larger = (char *)realloc(w->bytes, room);
        if (!larger)
            return "no memory";
        w->bytes = larger;
        w->room = room;
        tokenizer_piece(&p->tokens, id, p->begins, w->bytes + w->size, room - w->size);
    }
    p->begins = p->begins && size == 0;
    if (!p->opts.chat || chat_hear(&p->talk, &p->tokens, id, w->bytes + w->size, size))
        w->size += size;
    sure = before_stop(w, p->opts.stop, stopped);
    if (p->opts.ids) {
        w->size -= sure;
        memmove(w->bytes, w->bytes + sure, w->size);
    } else {
        put_waiting(w, sure, *stopped);
    }
    return program_flush();
}

/* The text has ended: what still waits comes out, unless it is what the text had to stop at. */
static const char *put_end(program *p, int stopped)
{
    if (!stopped && !p->opts.ids)
        put_waiting(&p->out, p->out.size, 1);
    p->out.size = 0;
    putchar('\n');
    return program_flush();
}

/* ==== Reading and writing ======================================================================================== */

/* An error of the open model, the tokenizer or what comes of them. */
static const char *of_model(const program *p, const char *error)
{
    return program_about(p->opts.directory, error);
}

static const char *is_full(program *p)
{
    snprintf(p->error, sizeof p->error, "a text of %lu tokens does not fit into the context of %lu%s",
             (unsigned long)p->ids.count, (unsigned long)p->text.capacity,
             p->text.capacity < p->model.config.max_position_embeddings ? ": --context gives more" : "");
    return p->error;
}

/* Multiplications that take a good part of a second: what has more of them shows its progress from the beginning. */
static const double MANY = 2e10;

/* The model reads what it has not read of the text. */
static const char *read_rest(program *p)
{
    program_progress reading = program_progress_of("reading");
    size_t begin = p->text.length;
    const char *error = NULL;
    if ((double)(p->ids.count - begin) * (double)p->model.files.bytes > MANY)
        reading.next = 0;
    if (p->ids.count > p->text.capacity)
        return is_full(p);
    while (p->text.length < p->ids.count && !error) {
        size_t at = p->text.length, count = p->ids.count - at < CHUNK ? p->ids.count - at : CHUNK;
        program_show_progress(&reading, (double)(at - begin) / (double)(p->ids.count - begin));
        error = decoder_read(&p->model, &p->text, p->ids.ids + at, count, at + count < p->ids.count ? NULL : p->logits);
    }
    program_end_progress(&reading);
    return of_model(p, error);
}

static const char *read_prompt(program *p)
{
    double start = program_now();
    size_t count = p->ids.count - p->text.length;
    const char *error;
    sample_forget(&p->draw);
    error = of_model(p, sample_saw(&p->draw, p->ids.ids, p->ids.count));
    if (!error)
        error = read_rest(p);
    p->read += error ? 0 : count;
    p->reading += program_now() - start;
    return error;
}

static int stops_at(const program *p, int32_t id)
{
    for (size_t i = 0; i < p->stop_count; i++)
        if (p->stops[i] == id)
            return 1;
    return 0;
}

/* Goes on with the text until a token or --stop ends it, or enough is written. */
static const char *write_text(program *p)
{
    const char *error = read_prompt(p), *ending;
    double start = program_now();
    int stopped = 0;
    p->begins = p->opts.chat || p->alone;
    if (error)
        return error;
    for (size_t written = 0; written < p->opts.max_tokens && !stopped; written++) {
        int32_t id;
        if ((error = read_rest(p)) != NULL || (error = of_model(p, sample_next(&p->draw, p->logits, &id))) != NULL ||
            stops_at(p, id))
            break;
        p->written++;
        if ((error = tokenizer_push(&p->ids, &id, 1)) != NULL ||
            (error = put_token(p, id, written == 0, &stopped)) != NULL)
            break;
    }
    p->writing += program_now() - start;
    ending = put_end(p, stopped);
    return error ? error : ending;
}

/* Room for a text: all the context, or what one answer to what is there can need. */
static const char *begin_text(program *p, int only)
{
    size_t room = p->context, most = p->ids.count + p->opts.max_tokens;
    if (only && most < room && p->ids.count > 0)
        room = most;
    return of_model(p, decoder_begin(&p->model, &p->text, room, cache_type(p->opts.cache)));
}

/* ==== A text ===================================================================================================== */

/* Reads the whole input; one end of a line at its end does not count. */
static const char *read_input(program *p, char **text, size_t *size)
{
    if (!program_read_all(stdin, PROGRAM_INPUT, text, size))
        return "no memory";
    if (ferror(stdin))
        return "the input cannot be read";
    if (*size > PROGRAM_INPUT) {
        snprintf(p->error, sizeof p->error, "the input has more than %d bytes", PROGRAM_INPUT);
        return p->error;
    }
    if (*size > 0 && (*text)[*size - 1] == '\n')
        *size -= *size > 1 && (*text)[*size - 2] == '\r' ? 2 : 1;
    return NULL;
}

/* The numbers of --prompt-ids. */
static const char *read_ids(program *p)
{
    const char *at = p->opts.prompt_ids, *error = NULL;
    while (!error) {
        long long value = 0;
        int32_t id;
        at += strspn(at, " ,\t\r\n");
        if (!*at)
            return NULL;
        if (*at < '0' || *at > '9')
            return "--prompt-ids: not a list of numbers";
        for (; *at >= '0' && *at <= '9'; at++)
            value = value > INT32_MAX ? value : 10 * value + (*at - '0');
        if (value > INT32_MAX || (*at && !strchr(" ,\t\r\n", *at)))
            return "--prompt-ids: not a list of ids";
        id = (int32_t)value;
        error = tokenizer_push(&p->ids, &id, 1);
    }
    return error;
}

/* How many of the tokens have no bytes: special ones, which no text has. */
static size_t count_special(const program *p, const tokenizer_ids *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < ids->count; i++)
        count += tokenizer_piece(&p->tokens, ids->ids[i], 0, NULL, 0) == 0;
    return count;
}

/* Says that what is spelt like a special token is none. */
static void note_special(const program *p, const char *text, size_t size)
{
    tokenizer_ids plain = {NULL, 0, 0}, rendered = {NULL, 0, 0};
    unsigned char *said = (unsigned char *)calloc(size + 1, 1); /* by nobody */
    if (said && !tokenizer_encode(&p->tokens, text, size, 0, &plain) &&
        !tokenizer_encode_said(&p->tokens, text, said, size, &rendered) &&
        count_special(p, &plain) != count_special(p, &rendered))
        fprintf(stderr, "13_generate: special tokens in the text are read as characters; in transformers they are "
                        "tokens\n");
    tokenizer_ids_free(&plain);
    tokenizer_ids_free(&rendered);
    free(said);
}

static const char *continue_text(program *p)
{
    const options *o = &p->opts;
    char *input = NULL;
    const char *text = o->count ? o->texts[0] : NULL, *error = NULL;
    size_t size = text ? strlen(text) : 0;
    if (o->prompt_ids) {
        error = read_ids(p);
    } else {
        if (!text) {
            error = read_input(p, &input, &size);
            text = input;
        }
        p->alone = size == 0;
        if (!error)
            error = tokenizer_begin(&p->tokens, &p->ids);
        if (!error)
            error = of_model(p, tokenizer_encode(&p->tokens, text, size, 0, &p->ids));
        if (!error)
            error = tokenizer_end(&p->tokens, &p->ids);
        if (!error)
            note_special(p, text, size);
    }
    free(input);
    if (!error && p->ids.count == 0)
        error = "the prompt is empty: there is nothing to continue";
    if (!error)
        error = begin_text(p, 1);
    return error ? error : write_text(p);
}

/* ==== A conversation ============================================================================================= */

/* Which template, which date, and which tokens end an answer. */
static const char *begin_chat(program *p, json config)
{
    chat_opts opts = {CHAT_NONE, NULL, 0, NULL, NULL};
    char type[64];
    const char *error;
    size_t vocab_size = p->opts.template_only ? SIZE_MAX : p->model.config.vocab_size;
    json_string(json_get(config, "model_type"), type, sizeof type);
    if (p->opts.family)
        opts.family = chat_family_named(p->opts.family);
    else if (!p->tokens.chat_template)
        opts.family = chat_family_of(&p->tokens, type);
    if (opts.family != CHAT_NONE && !p->opts.family)
        fprintf(stderr, "13_generate: the model has no chat template: that of %s stands in for it\n",
                chat_family_name(opts.family));
    opts.system = p->opts.system;
    opts.no_thinking = p->opts.no_thinking;
    opts.date = p->opts.date;
    opts.tokens = &p->tokens;
    if (opts.family == CHAT_NONE && !p->tokens.chat_template)
        return of_model(p, "no chat template is known for this model; --family names one");
    error = chat_begin(&p->talk, &opts);
    if (!error)
        error = chat_check(&p->talk, &p->tokens, vocab_size);
    if (!error)
        p->stop_count += chat_stops(&p->talk, &p->tokens, p->stops + p->stop_count);
    return of_model(p, error);
}

/* Renders the conversation as the model is to read it. */
static const char *render(program *p)
{
    const char *error = chat_render(&p->talk);
    p->rendered.count = 0;
    return of_model(p, error ? error : chat_encode(&p->talk, &p->tokens, &p->rendered));
}

static const char *show_template(program *p)
{
    for (size_t i = 0; p->opts.ids && i < p->rendered.count; i++)
        printf("%s%ld", i ? " " : "", (long)p->rendered.ids[i]);
    if (!p->opts.ids)
        fwrite(p->talk.text, 1, p->talk.size, stdout);
    return put_end(p, 1);
}

/* The model forgets what comes after the first token in which what it has read differs from what it is to read. One is
   always left to read, as logits come from that. */
static void forget(program *p)
{
    tokenizer_ids old = p->ids;
    size_t same = 0;
    while (same < p->text.length && same + 1 < p->rendered.count && old.ids[same] == p->rendered.ids[same])
        same++;
    decoder_truncate(&p->model, &p->text, same);
    p->ids = p->rendered;
    p->rendered = old;
}

/* A turn of the user, and the model's. */
static const char *converse(program *p, const char *text, size_t size)
{
    const char *error = chat_user(&p->talk, text, size);
    if (!error)
        error = render(p);
    if (error || p->opts.template_only)
        return error ? error : show_template(p);
    forget(p);
    error = chat_answer(&p->talk);
    if (!error)
        error = write_text(p);
    if (!error && p->talk.has_channels && p->talk.messages[p->talk.message_count - 1].size == 0)
        program_failed("an answer of thoughts alone: --max-tokens gives more");
    return error;
}

static const char *converse_input(program *p, int *failed)
{
    int prompts = program_is_terminal(0) && program_is_terminal(1);
    program_line line = {NULL, 0, 0, 0, NULL};
    const char *error = NULL;
    while (!error) {
        if (prompts) {
            fputs("> ", stdout);
            fflush(stdout);
        }
        if (!program_read_line(&line)) {
            error = line.error;
            if (prompts && !error)
                putchar('\n');
            break;
        }
        if (line.size > PROGRAM_LINE) {
            program_too_long("the input", line.number);
            *failed = 1;
        } else if (!program_is_blank(line.text, line.size)) {
            error = converse(p, line.text, line.size);
            if (p->opts.template_only)
                break;
        }
    }
    free(line.text);
    return error;
}

static const char *chat_along(program *p, json config, int *failed)
{
    const char *error = begin_chat(p, config);
    if (!error && !p->opts.template_only)
        error = begin_text(p, 0);
    if (error || p->opts.count == 0)
        return error ? error : converse_input(p, failed);
    for (size_t i = 0; i < p->opts.count && !error && (i == 0 || !p->opts.template_only); i++)
        error = converse(p, p->opts.texts[i], strlen(p->opts.texts[i]));
    return error;
}

/* ==== Beginning and end ========================================================================================== */

static const char *open_model(program *p)
{
    program_progress loading = program_progress_of("loading");
    const checkpoint_opts opts = {program_show_progress, &loading};
    const char *error = decoder_open(&p->model, p->opts.directory, &opts);
    program_end_progress(&loading);
    program_notes(p->model.files.notes);
    return error;
}

/* The tokenizer, which must not make tokens that the model does not have. */
static const char *open_tokenizer(program *p)
{
    size_t vocab_size = p->model.config.vocab_size;
    const char *error = tokenizer_open(&p->tokens, p->opts.directory);
    int32_t last = error ? -1 : tokenizer_last(&p->tokens);
    program_notes(error ? "" : p->tokens.notes);
    if (error || last < 0 || (size_t)last < vocab_size)
        return error;
    snprintf(p->error, sizeof p->error, "the tokenizer has a token %ld, config.json a vocab_size of %lu", (long)last,
             (unsigned long)vocab_size);
    return of_model(p, p->error);
}

/* What the command line says, else what the model's own generation_config.json does. */
static const char *begin_sampler(program *p)
{
    const decoder_config *c = &p->model.config;
    const options *o = &p->opts;
    sample_opts opts = sample_defaults();
    opts.temperature = o->greedy ? 0 : o->temperature < NOT_GIVEN ? o->temperature : c->temperature;
    opts.top_k = o->top_k < SIZE_MAX ? o->top_k : c->top_k;
    opts.top_p = o->top_p < NOT_GIVEN ? o->top_p : c->top_p;
    opts.repetition_penalty = o->repetition_penalty < NOT_GIVEN ? o->repetition_penalty : c->repetition_penalty;
    opts.seed = o->seed < SIZE_MAX ? o->seed : (size_t)(sample_random((uint64_t)time(NULL), (uint64_t)clock()) >> 32);
    return of_model(p, sample_begin(&p->draw, &opts, c->vocab_size));
}

static void show_times(const program *p, double loading)
{
    size_t bytes = decoder_cache_size(&p->model, p->text.capacity, cache_type(p->opts.cache));
    fprintf(stderr, "loaded %.3f s\n", loading);
    program_show_rate("read", p->read, "tokens", p->reading);
    program_show_rate("wrote", p->written, "tokens", p->writing);
    fprintf(stderr, "cache %.1f MiB for %lu tokens\n", (double)bytes / (1 << 20), (unsigned long)p->text.capacity);
    program_show_memory();
    fprintf(stderr, "seed %lu\n", (unsigned long)p->draw.opts.seed);
}

/* What writing needs beside the model. Returns 0 or the exit status. */
static int begin_writing(program *p)
{
    const options *o = &p->opts;
    const decoder_config *config = &p->model.config;
    const char *error;
    attn_status status;
    if (o->context > config->max_position_embeddings) {
        char text[64];
        snprintf(text, sizeof text, ": the model was trained for %lu tokens",
                 (unsigned long)config->max_position_embeddings);
        return program_wrong("--context", NULL, text);
    }
    p->context = config->max_position_embeddings < USUAL_CONTEXT ? config->max_position_embeddings : USUAL_CONTEXT;
    if (o->context)
        p->context = o->context;
    for (; p->stop_count < config->eos_count; p->stop_count++)
        p->stops[p->stop_count] = config->eos_ids[p->stop_count];
    status = o->threads == 1 ? ATTN_OK : attn_pool_new(&p->model.net.parallel, o->threads);
    if (status != ATTN_OK)
        return program_failed("--threads: %s", attn_status_string(status));
    p->out.room = 64;
    p->out.bytes = (char *)malloc(p->out.room);
    p->logits = (float *)malloc(config->vocab_size * sizeof *p->logits);
    p->out.terminal = program_is_terminal(1);
    error = p->out.bytes && p->logits ? begin_sampler(p) : "no memory";
    return error ? program_failed("%s", error) : 0;
}

/* With an open model and tokenizer. Returns the exit status. */
static int run(program *p)
{
    int failed = 0, status = begin_writing(p);
    const char *error;
    if (status)
        return status;
    error = p->opts.chat ? chat_along(p, p->model.files.config, &failed) : continue_text(p);
    return error ? program_failed("%s", error) : failed;
}

/* --template: without weights. */
static int run_template(program *p)
{
    int failed = 0;
    checkpoint files;
    const char *error = checkpoint_open(&files, p->opts.directory);
    if (!error)
        error = tokenizer_open(&p->tokens, p->opts.directory);
    program_notes(error ? "" : p->tokens.notes);
    if (!error)
        error = chat_along(p, files.config, &failed);
    failed = error ? program_failed("%s", error) : failed;
    checkpoint_close(&files);
    return failed;
}

static void end(program *p)
{
    sample_end(&p->draw);
    chat_end(&p->talk);
    tokenizer_ids_free(&p->ids);
    tokenizer_ids_free(&p->rendered);
    free(p->out.bytes);
    free(p->logits);
    decoder_end(&p->model, &p->text);
    attn_pool_free(&p->model.net.parallel);
    tokenizer_close(&p->tokens);
    decoder_close(&p->model);
}

int main(int argc, char **argv)
{
    static program p; /* zero */
    double start = program_now(), loading;
    const char *error;
    int status;
    program_begin("13_generate");
    if ((status = read_options(&p.opts, argc, argv)) != 0)
        return status;
    if (p.opts.help)
        return program_help(help);
    if (p.opts.template_only) {
        status = run_template(&p);
        end(&p);
        return status;
    }
    error = open_model(&p);
    if (!error && (error = open_tokenizer(&p)) != NULL)
        end(&p);
    if (error)
        return program_failed("%s", error);
    loading = program_now() - start;
    status = run(&p);
    if (p.opts.timing && status != 2)
        show_times(&p, loading);
    end(&p);
    return status;
}
