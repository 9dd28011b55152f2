/* board.c: what the mps2-an386, an Arm board with a Cortex-M4, needs before and after main: vectors, a stack, memory as
   C expects it, and a way to say something. Texts and the end go to the debugger, here QEMU (semihosting).
   For a board of one's own: its memories in board.ld, and its serial port in place of board_write. */
#include "board.h"

#include <stdint.h>

extern uint32_t board_data_from[], board_data[], board_data_end[], board_bss[], board_bss_end[]; /* see board.ld */
extern uint32_t board_stack[], board_stack_end[];

int main(int argc, char **argv);
void board_reset(void);
void board_fault(void);
extern const uintptr_t board_vectors[16];

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define FPU_ACCESS REGISTER(0xE000ED88)
#define TIMER_CONTROL REGISTER(0x40000000) /* CMSDK timer 0: counts down, 25 million a second */
#define TIMER_VALUE REGISTER(0x40000004)
#define TIMER_RELOAD REGISTER(0x40000008)
enum { PER_TICK = 40, LOOPS = 500000 }; /* instructions of 1 ns: QEMU with -icount shift=0 */

static const uint32_t PAINT = 0xA5A5A5A5;
static uint32_t painted, loop_ticks;

/* ---- to the debugger ---- */

static void ask_debugger(uint32_t what, const void *with)
{
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void board_write(const char *text)
{
    ask_debugger(0x04, text); /* SYS_WRITE0 */
}

static void leave(uint32_t status)
{
    uint32_t reason[2] = {0x20026, 0}; /* the program has ended, with this status */
    reason[1] = status;
    for (;;)
        ask_debugger(0x20, reason); /* SYS_EXIT_EXTENDED */
}

static void write_number(uint32_t number, const char *what)
{
    char digits[12], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    board_write(at);
    board_write(what);
}

/* ---- before main ---- */

/* A loop whose instructions are known, 2 a turn. */
static void run_loop(uint32_t turns)
{
    __asm__ volatile("1: subs %0, %0, #1\n bne 1b" : "+r"(turns) : : "cc");
}

void board_reset(void)
{
    uint32_t *sp;
    FPU_ACCESS |= 0xFu << 20;
    __asm__ volatile("dsb\n isb\n mov %0, sp" : "=r"(sp) : : "memory");
    for (uint32_t *to = board_data, *from = board_data_from; to < board_data_end;)
        *to++ = *from++;
    for (uint32_t *to = board_bss; to < board_bss_end;)
        *to++ = 0;
    for (volatile uint32_t *to = board_stack; to < sp;) /* volatile: else a memset, which needs a stack */
        *to++ = PAINT;
    painted = (uint32_t)((char *)sp - (char *)board_stack);

    TIMER_VALUE = TIMER_RELOAD = UINT32_MAX;
    TIMER_CONTROL = 1;
    loop_ticks = TIMER_VALUE;
    run_loop(LOOPS);
    loop_ticks -= TIMER_VALUE;
    TIMER_VALUE = UINT32_MAX;
    leave((uint32_t)main(0, 0));
}

/* ---- after it ---- */

int board_end(unsigned long characters)
{
    uint32_t ticks = UINT32_MAX - TIMER_VALUE, untouched = 0;
    const uint32_t expected = 2 * LOOPS / PER_TICK;
    while (board_stack + untouched < board_stack_end && board_stack[untouched] == PAINT)
        untouched++;
    write_number(painted, " bytes of stack painted, ");
    write_number((uint32_t)((char *)board_stack_end - (char *)(board_stack + untouched)), " used\n");
    if (loop_ticks < expected - expected / 100 || loop_ticks > expected + expected / 100) {
        board_write("instructions: the timer does not count them, which takes QEMU with -icount shift=0\n");
        return 1;
    }
    write_number(ticks / (1000000 / PER_TICK), " million instructions, ");
    write_number(ticks / (uint32_t)characters * PER_TICK, " for each of ");
    write_number((uint32_t)characters, " tokens\n");
    return untouched == 0; /* the stack was too small */
}

void board_fault(void)
{
    board_write(board_stack[0] == PAINT ? "fault: memory or an instruction that is not there\n"
                                        : "fault: the stack is too small: see board.ld\n");
    leave(2);
}

__attribute__((section(".vectors"), used)) const uintptr_t board_vectors[16] = {
    (uintptr_t)board_stack_end, (uintptr_t)board_reset, (uintptr_t)board_fault, (uintptr_t)board_fault,
    (uintptr_t)board_fault,     (uintptr_t)board_fault, (uintptr_t)board_fault,
};
