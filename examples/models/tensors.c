/* Lists the tensors of safetensors and GGUF files: type, shape, name, the first values.

       tensors [--exact] FILE...

   --exact: of a GGUF, the type that each tensor has once it is loaded, and how far that rounds its numbers: the most,
   and the root of the mean of squares.

   Exit status: 0, 1 when a file is wrong, 2 when the command line is. */
#define _DEFAULT_SOURCE 1 /* for program.h */
#include "gguf_files.h"
#include "program.h"
#include "safetensors.h"

#include <math.h>

/* A type and a shape as 512 x 64, in columns. */
static void show_kind(const char *type, const size_t *shape, size_t rank)
{
    int width = 14;
    size_t i;
    printf("%-11s  ", type);
    if (rank == 0)
        width -= printf("scalar");
    for (i = 0; i < rank; i++)
        width -= printf("%s%llu", i ? " x " : "", (unsigned long long)shape[i]);
    printf("%*s  ", width > 0 ? width : 0, "");
}

static void show_title(const char *path, size_t tensors, double elements, double bytes)
{
    shown_put(stdout, path, strlen(path));
    printf(": %lu tensors, %.0f elements, %.0f bytes\n", (unsigned long)tensors, elements, bytes);
}

/* Whether values of the type can be read, not just listed. */
static int is_read(safetensors_dtype dtype)
{
    return dtype == SAFETENSORS_BOOL || dtype == SAFETENSORS_U8 || dtype == SAFETENSORS_I8 ||
           (dtype >= SAFETENSORS_I16 && dtype != SAFETENSORS_C64);
}

static int is_integer(safetensors_dtype dtype)
{
    return strchr("IUB", *safetensors_dtype_name(dtype)) != NULL && dtype != SAFETENSORS_BF16;
}

static void show_file(const safetensors *file, const char *path)
{
    double parameters = 0, bytes = 0;
    size_t i, j;
    for (i = 0; i < file->count; i++) {
        parameters += (double)file->tensors[i].count;
        bytes += (double)file->tensors[i].size;
    }
    show_title(path, file->count, parameters, bytes);
    for (i = 0; i < file->count; i++) {
        const safetensors_tensor *tensor = &file->tensors[i];
        show_kind(safetensors_dtype_name(tensor->dtype), tensor->shape, tensor->rank);
        shown_put(stdout, tensor->name, tensor->name_size);
        if (tensor->count && is_read(tensor->dtype)) {
            printf(" =");
            for (j = 0; j < tensor->count && j < 3; j++)
                printf(is_integer(tensor->dtype) ? " %.0f" : " %.6g", safetensors_get(tensor, j));
            fputs(tensor->count > 3 ? " ..." : "", stdout);
        }
        putchar('\n');
    }
}

/* What loading a tensor of a GGUF makes of it. */
static void show_rounding(const gguf_tensor *tensor)
{
    safetensors_dtype dtype;
    double largest, square;
    if (!gguf_files_rounding(tensor, &dtype, &largest, &square))
        printf(" cannot be loaded");
    else if (largest > 0)
        printf(" -> %s, rounded by %.3g at most, RMS %.3g", safetensors_dtype_name(dtype), largest, sqrt(square));
    else
        printf(" -> %s, exactly", safetensors_dtype_name(dtype));
}

static void show_gguf(const gguf *file, const char *path, int exact)
{
    double parameters = 0, bytes = 0;
    size_t i, j;
    for (i = 0; i < file->count; i++) {
        parameters += (double)file->tensors[i].count;
        bytes += (double)file->tensors[i].size;
    }
    show_title(path, file->count, parameters, bytes);
    for (i = 0; i < file->count; i++) {
        const gguf_tensor *tensor = &file->tensors[i];
        size_t block = gguf_block(tensor->type);
        const char *type = gguf_type_name(tensor->type);
        char number[32];
        float values[256];
        snprintf(number, sizeof number, "type %u", tensor->type);
        show_kind(type ? type : number, tensor->shape, tensor->rank);
        shown_put(stdout, tensor->name, tensor->name_size);
        if (exact) {
            show_rounding(tensor);
        } else if (block && tensor->count &&
                   gguf_read(tensor, 0, block == 1 && tensor->count > 2 ? 3 : block, values)) {
            printf(" =");
            for (j = 0; j < tensor->count && j < 3; j++)
                printf(" %.6g", (double)values[j]);
            fputs(tensor->count > 3 ? " ..." : "", stdout);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    int asks = 0, exact = 0, operands, failed = 0, status, i;
    const program_option table[] = {{"--exact", PROGRAM_FLAG, &exact, 0, 0}, {"--help", PROGRAM_HELP, &asks, 0, 0}};
    program_begin("tensors");
    if ((status = program_options(table, 2, argc, argv, &operands)) != 0)
        return status;
    if (asks)
        return program_help("usage: tensors [--exact] FILE...\nLists the tensors of safetensors and GGUF files.\n"
                            "  --exact  of a GGUF: their types once loaded, and what that rounds");
    if (operands == 0)
        return program_wrong("the name of a file is missing", NULL, NULL);
    for (i = 0; i < operands; i++) {
        safetensors file;
        gguf other;
        int is_gguf = gguf_files_is(argv[i]);
        const char *error = is_gguf ? gguf_open(&other, argv[i]) : safetensors_open(&file, argv[i]);
        if (error) {
            failed = program_failed("%s", error);
        } else if (is_gguf) {
            show_gguf(&other, argv[i], exact);
            gguf_close(&other);
        } else {
            show_file(&file, argv[i]);
            safetensors_close(&file);
        }
    }
    return program_flush() ? program_failed("%s", program_flush()) : failed;
}
