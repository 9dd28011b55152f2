/* Words that the headers of others define as macros, as a program may have them before attn.h: compiled with
   -include macros.h and one of the sets, none of our names may be among them. The headers that attn.h includes come
   first, as they do behind the true ones. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif
#ifdef ATTN_THREADS
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

#ifdef MACROS_OF_WINDOWS /* windows.h, rpcndr.h, winsock.h */
#define near
#define far
#define NEAR
#define FAR
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define UNALIGNED
#define small char
#define hyper long long
#define interface struct
#define pascal
#define cdecl
#define PURE = 0
#define THIS
#define STRICT 1
#define TRUE 1
#define FALSE 0
#define ERROR 0
#define NO_ERROR 0
#define IGNORE 0
#define INFINITE 0xffffffff
#define DELETE 0x10000
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define DIFFERENCE 11
#define ABSOLUTE 1
#define RELATIVE 2
#define OPAQUE 2
#define TRANSPARENT 1
#define ALTERNATE 1
#define WINDING 2
#define Yield()
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define s_addr S_un.S_addr
#define h_addr h_addr_list[0]
#endif

#ifdef MACROS_OF_UNIX /* complex.h, termios.h; sys/param.h of BSD; sys/regset.h and sys/sysmacros.h of Solaris; curses.h */
#define I (1.0i)
#define complex
#define imaginary
#define B0 0
#define B50 1
#define B110 3
#define ECHO 8
#define NL0 0
#define CR0 0
#define TAB0 0
#define BS0 0
#define VT0 0
#define FF0 0
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define roundup(x, y) ((((x) + (y) - 1) / (y)) * (y))
#define rounddown(x, y) (((x) / (y)) * (y))
#define howmany(x, y) (((x) + (y) - 1) / (y))
#define powerof2(x) ((((x) - 1) & (x)) == 0)
#define setbit(a, i) 0
#define clrbit(a, i) 0
#define isset(a, i) 0
#define isclr(a, i) 0
#define nitems(x) 0
#define major(x) 0
#define minor(x) 0
#define makedev(x, y) 0
#define unix 1
#define linux 1
#define sun 1
#define sparc 1
#define i386 1
#define mips 1
#define GS 0
#define FS 1
#define ES 2
#define DS 3
#define EDI 4
#define ESI 5
#define EBP 6
#define ESP 7
#define EBX 8
#define EDX 9
#define ECX 10
#define EAX 11
#define ERR 13
#define EIP 14
#define CS 15
#define EFL 16
#define SS 18
#define SP 17
#define PC 14
#define R0 0
#define R1 1
#define OK 0
#define move(y, x) 0
#define clear() 0
#define erase() 0
#define echo() 0
#define box(w, v, h) 0
#define index(s, c) 0
#define bcopy(a, b, n) 0
#define bzero(a, n) 0
#endif

#ifdef MACROS_OF_ARDUINO /* Arduino.h, binary.h, avr/io.h */
#define HIGH 1
#define LOW 0
#define INPUT 0
#define OUTPUT 1
#define PI 3.1415926535897932
#define HALF_PI 1.5707963267948966
#define TWO_PI 6.283185307179586
#define DEG_TO_RAD 0.017453292519943295
#define EULER 2.718281828459045
#define SERIAL 0
#define DISPLAY 1
#define CHANGE 1
#define FALLING 2
#define RISING 3
#define DEFAULT 0
#define EXTERNAL 1
#define INTERNAL 2
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define abs(x) ((x) > 0 ? (x) : -(x))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define constrain(amt, low, high) ((amt) < (low) ? (low) : ((amt) > (high) ? (high) : (amt)))
#define radians(deg) ((deg)*DEG_TO_RAD)
#define degrees(rad) ((rad)*57.29577951308232)
#define sq(x) ((x) * (x))
#define interrupts() 0
#define lowByte(w) ((uint8_t)((w)&0xff))
#define highByte(w) ((uint8_t)((w) >> 8))
#define bitRead(value, bit) (((value) >> (bit)) & 0x01)
#define bitSet(value, bit) 0
#define bitClear(value, bit) 0
#define bitWrite(value, bit, bitvalue) 0
#define bit(b) (1UL << (b))
#define word(...) 0
#define F(string_literal) 0
#define B0 0
#define B1 1
#define B00 0
#define B01 1
#define B10 2
#define B11 3
#define _BV(bit) (1 << (bit))
#define PORTB 5
#define DDRB 4
#define SREG 0x3f
#define SP 0x3d
#define TCNT0 0x26
#define ADC 0x78
#endif
