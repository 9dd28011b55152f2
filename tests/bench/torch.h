/* PyTorch as a contestant, in a process of its own: each line that it reads sets up a case, or is "run" and asks for one
   run of it. Include it after bench.h; _GNU_SOURCE is defined before the first header. */
#ifndef TORCH_H
#define TORCH_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

static FILE *to_torch, *from_torch;
static pid_t torch_process;
static char torch_version[64]; /* its answer to everything, with a newline */

static int ask_torch(const char *question)
{
    if (!to_torch || fputs(question, to_torch) < 0 || fflush(to_torch) != 0 ||
        !fgets(torch_version, sizeof torch_version, from_torch)) {
        if (to_torch)
            fclose(to_torch);
        to_torch = NULL;
        return 0;
    }
    return 1;
}

static void run_torch(void *arg)
{
    (void)arg;
    if (!ask_torch("run\n")) {
        fprintf(stderr, "bench: PyTorch stopped\n");
        exit(1);
    }
}

/* Starts the script where ATTN_BENCH_PYTHON names a Python; small: a case to try it with. */
static void load_torch(const char *script, const char *small)
{
    const char *python = getenv("ATTN_BENCH_PYTHON");
    int questions[2], answers[2];
    if (!python || !*python) {
        printf("PyTorch skipped: ATTN_BENCH_PYTHON names no Python.\n");
        return;
    }
    signal(SIGPIPE, SIG_IGN);
    fflush(stdout);
    if (pipe(questions) != 0 || pipe(answers) != 0 || (torch_process = fork()) < 0) {
        printf("PyTorch skipped: no pipe or process.\n");
        return;
    }
    if (torch_process == 0) {
        dup2(questions[0], 0);
        dup2(answers[1], 1);
        close(questions[0]);
        close(questions[1]);
        close(answers[0]);
        close(answers[1]);
        execlp(python, python, "-c", script, (char *)NULL);
        _exit(127);
    }
    close(questions[0]);
    close(answers[1]);
    to_torch = fdopen(questions[1], "w");
    from_torch = fdopen(answers[0], "r");
    if (!from_torch || !ask_torch(small))
        printf("PyTorch skipped: %s does not run it.\n", python);
    else
        printf("PyTorch %s", torch_version);
}

/* It ends when there is nothing more to read. */
static void stop_torch(void)
{
    if (torch_process <= 0)
        return;
    if (to_torch)
        fclose(to_torch);
    waitpid(torch_process, NULL, 0);
}

#endif
