#include "board.h"

#if defined(__arm__) || defined(__riscv)

extern uint32_t stack_low[], stack_top[]; /* by sections.ld */
int main(void);

static int host(int operation, const void *argument)
{
#ifdef __arm__
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
#else
    register int a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n.option push\n.option norvc\n"
                     "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
#endif
}

void put(const char *text)
{
    host(4, text); /* SYS_WRITE0 */
}

void finish(int status)
{
    for (;;)
        host(0x18, (const void *)(status ? 0x20023u : 0x20026u)); /* SYS_EXIT: an error, or the end */
}

__attribute__((used)) void fault(void)
{
    put("FAIL a fault of the processor\n");
    finish(1);
}

#ifdef __arm__

__asm__(".section .start, \"a\"\n.word stack_top, start\n.rept 14\n.word fault\n.endr\n.text");

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIMER 0x40000000u /* the CMSDK timer of MPS2 boards: 32 bits, down at 25 MHz */
#define TICK 40           /* instructions, each of which takes a nanosecond with -icount shift=0 */

__attribute__((used)) void start(void)
{
#ifdef __ARM_FP
    REGISTER(0xe000ed88u) |= 0xf00000u; /* CPACR: the FPU */
#endif
#ifndef TINY /* a board that has no such timer */
    REGISTER(TIMER + 8) = 0xffffffffu;
    REGISTER(TIMER + 4) = 0xffffffffu;
    REGISTER(TIMER) = 1;
#endif
    finish(main());
}

uint32_t instructions(void)
{
#ifndef TINY
    return (0xffffffffu - REGISTER(TIMER + 4)) * TICK;
#else
    return 0;
#endif
}

void spin(uint32_t count)
{
    count /= 2;
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\nbne 1b" : "+l"(count) : : "cc");
}

#else

__asm__(".section .start, \"ax\"\n"
        "la sp, stack_top\nla tp, thread\nla t0, fault\ncsrw mtvec, t0\n"
        "li t0, 0x6000\ncsrs mstatus, t0\n" /* the FPU */
        "call main\ncall finish\n.text");

__attribute__((used)) uint32_t thread[16]; /* errno of picolibc */

uint32_t instructions(void)
{
    uint32_t count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count));
    return count;
}

void spin(uint32_t count)
{
    count /= 2;
    __asm__ volatile("1: addi %0, %0, -1\nbnez %0, 1b" : "+r"(count));
}

#endif

#define PAINT 0x5ca1ab1eu

__attribute__((noinline)) uint32_t stack_of(void (*call)(void))
{
    volatile uint32_t *sp, *low = stack_low;
#ifdef __arm__
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#else
    __asm__ volatile("mv %0, sp" : "=r"(sp));
#endif
    for (; low < sp; low++)
        *low = PAINT;
    call();
    for (low = stack_low; low < sp && *low == PAINT;)
        low++;
    return (uint32_t)((uintptr_t)sp - (uintptr_t)low);
}

#else

#include <stdio.h>
#include <stdlib.h>

void put(const char *text)
{
    fputs(text, stdout);
}

void finish(int status)
{
    exit(status);
}

uint32_t instructions(void)
{
    return 0;
}

void spin(uint32_t count)
{
    (void)count;
}

uint32_t stack_of(void (*call)(void))
{
    call();
    return 0;
}

#endif
