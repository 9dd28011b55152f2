/* Lists the tensors of safetensors files: type, shape, name, the first values.

       tensors FILE...

   Exit status: 0, 1 when a file is wrong, 2 when the command line is. */
#define _DEFAULT_SOURCE 1 /* for program.h */
#include "program.h"
#include "safetensors.h"

/* A shape as 512 x 64, in at least `width` columns. */
static void show_shape(const safetensors_tensor *tensor, int width)
{
    size_t i;
    if (tensor->rank == 0)
        width -= printf("scalar");
    for (i = 0; i < tensor->rank; i++)
        width -= printf("%s%llu", i ? " x " : "", (unsigned long long)tensor->shape[i]);
    printf("%*s", width > 0 ? width : 0, "");
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
    shown_put(stdout, path, strlen(path));
    printf(": %lu tensors, %.0f elements, %.0f bytes\n", (unsigned long)file->count, parameters, bytes);
    for (i = 0; i < file->count; i++) {
        const safetensors_tensor *tensor = &file->tensors[i];
        printf("%-11s  ", safetensors_dtype_name(tensor->dtype));
        show_shape(tensor, 14);
        printf("  ");
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

int main(int argc, char **argv)
{
    int asks = 0, operands, failed = 0, status, i;
    const program_option table[] = {{"--help", PROGRAM_HELP, &asks, 0, 0}};
    program_begin("tensors");
    if ((status = program_options(table, 1, argc, argv, &operands)) != 0)
        return status;
    if (asks)
        return program_help("usage: tensors FILE...\nLists the tensors of safetensors files.");
    if (operands == 0)
        return program_wrong("the name of a file is missing", NULL, NULL);
    for (i = 0; i < operands; i++) {
        safetensors file;
        const char *error = safetensors_open(&file, argv[i]);
        if (error) {
            failed = program_failed("%s", error);
            continue;
        }
        show_file(&file, argv[i]);
        safetensors_close(&file);
    }
    return program_flush() ? program_failed("%s", program_flush()) : failed;
}
