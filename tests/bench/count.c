/* A plugin of QEMU's emulators of one program, which says at the end how many instructions the program ran:

       cc -shared -fPIC -o count.so count.c
       qemu-riscv64 -plugin count.so PROGRAM ARGUMENT...

   The declarations are those of version 1 of its interface, of QEMU 4.2 and later, whose header is seldom installed. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
typedef struct block block; /* of instructions that are translated, and run, together */
enum { ADD = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id id, block *b));
void qemu_plugin_register_vcpu_tb_exec_inline(block *b, int operation, void *number, uint64_t operand);
size_t qemu_plugin_tb_n_insns(const block *b);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id id, void *arg), void *arg);

extern int qemu_plugin_version;
int qemu_plugin_version = 1;
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

static uint64_t instructions;

static void count_block(plugin_id id, block *b)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(b, ADD, &instructions, qemu_plugin_tb_n_insns(b));
}

static void say(plugin_id id, void *arg)
{
    (void)id;
    (void)arg;
    fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, say, NULL);
    return 0;
}
