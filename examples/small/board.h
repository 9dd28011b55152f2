/* board.h: what 15_small.c asks of the machine that it runs on: a board without a system (SMALL_BOARD), which board.c
   starts; or anything that has a C library. */
#ifndef SMALL_BOARD_H
#define SMALL_BOARD_H

#ifdef SMALL_BOARD

#define board_begin(argc, argv) ((void)(argc), (void)(argv)) /* nobody gives it arguments */
void board_write(const char *text);
int board_end(unsigned long characters); /* reports stack and instructions; what main returns */

#else
#include "../show.h"

static void board_begin(int argc, char **argv)
{
    show_directory(argc, argv, "", "A model of 49,000 weights writes English, letter after letter, without malloc.");
}
static void board_write(const char *text)
{
    fputs(text, stdout);
}
static int board_end(unsigned long characters)
{
    (void)characters;
    return show_done();
}

#endif
#endif
