/* What a program of tests/boards finds on a machine without an operating system: boards of QEMU, whose instructions are
   counted and which print through QEMU (semihosting). On a machine that has one, the same by <stdio.h>, uncounted. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void put(const char *text);
void finish(int status); /* does not return */

/* Instructions so far, modulo 2^32: those of two calls apart are right to 0.1 % from 100000 on. 0 where none are
   counted. */
uint32_t instructions(void);
void spin(uint32_t instructions); /* takes so many of them, an even number */

/* The bytes of stack that call() takes, from a painted stack. 0 where it is not painted. */
uint32_t stack_of(void (*call)(void));

#endif
