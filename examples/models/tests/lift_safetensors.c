/* A program that has taken safetensors.h and safetensors.c, and json.h, json.c, mapped.h, text.h and shown.h with them. */
#include "safetensors.h"

#include <string.h>

int main(void)
{
    static const char header[] = "{\"w\":{\"dtype\":\"I16\",\"shape\":[2,1],\"data_offsets\":[0,4]}}";
    char bytes[100] = {0};
    size_t size = strlen(header);
    const safetensors_tensor *w;
    safetensors file;
    int right;
    bytes[0] = (char)size;
    memcpy(bytes + 8, header, size);
    memcpy(bytes + 8 + size, "\x02\x01\xff\xff", 4);
    if (safetensors_parse(&file, bytes, 8 + size + 4, "bytes"))
        return 1;
    w = safetensors_find(&file, "w");
    right = w && w->rank == 2 && w->shape[0] == 2 && safetensors_get(w, 0) == 258 && safetensors_get(w, 1) == -1;
    safetensors_close(&file);
    return !right;
}
