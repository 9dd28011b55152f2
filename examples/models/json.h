/* json.h: JSON text (RFC 8259), checked once and then read where it lies. json.c and this header are all there is:
   C99 and libc, nothing allocated, nothing kept.

       size_t where;
       json config;
       const char *error = json_parse(&config, text, size, &where);
       if (error)
           printf("byte %zu: %s\n", where, error);
       uint64_t layers;
       if (!json_uint(json_get(config, "num_layers"), &layers))
           puts("num_layers: not a whole number");
       for (json name = json_first(config); name.type; name = json_next(name))
           if (json_value(name).type == JSON_NULL) ...

   A `json` is a value within the text: copy it freely, as long as the text stays. One of type JSON_NONE is no value;
   every function takes it, so that a chain of lookups needs one check at its end. */
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { JSON_DEPTH = 128 }; /* how deep arrays and objects may nest */

typedef enum json_type {
    JSON_NONE, /* no value: a missing member, the end of an iteration */
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_type;

typedef struct json {
    json_type type;
    const char *text; /* its first character */
    const char *stop; /* where the whole text ends */
} json;

/* Checks `size` bytes of text and sets *value to what they are: one value, as RFC 8259 says, in valid UTF-8, with no
   half of a surrogate pair alone. Returns NULL, or what is wrong at byte *where (*value is JSON_NONE then; where may be
   NULL). The text need not end in a NUL, and a NUL within is an error. */
const char *json_parse(json *value, const char *text, size_t size, size_t *where);

/* The elements of an array in order; of an object, the names of its members, which are strings. JSON_NONE after the
   last, and of what is neither. json_value is the value that belongs to a name. */
json json_first(json container);
json json_next(json element);
json json_value(json name);

/* How many there are of these. */
size_t json_count(json container);

/* The value of a member: the last one, if the name is there more than once (Python reads it so). JSON_NONE if there is
   none. */
json json_get(json object, const char *name);

/* The names of the members that are in none of the lists, which NULL ends, of names, which NULL ends: "a, b", as much
   as fits into `size` bytes, with a NUL. Returns how many there are. */
size_t json_others(json object, const char *const *const *lists, char *out, size_t size);

/* A string as UTF-8, escapes resolved: returns its length in bytes, and writes of these what fits into `size` bytes with
   a NUL after it (nothing when size is 0). \u0000 is a NUL within. What is no string reads as an empty one. */
size_t json_string(json string, char *out, size_t size);

/* The order of two strings, as memcmp orders their UTF-8: negative, 0 or positive. What is no string comes first. */
int json_compare(json a, json b);

/* Whether it is a string and spells this. */
int json_is(json string, const char *text);

/* Numbers: 1 and *out, or 0 and *out untouched. json_uint takes whole numbers from 0 to 2^64 - 1 written in digits
   alone; json_double any number whose value is finite, rounded to nearest, whatever the locale. */
int json_uint(json number, uint64_t *out);
int json_double(json number, double *out);

#ifdef __cplusplus
}
#endif
#endif
