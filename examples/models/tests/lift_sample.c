/* A program that has taken sample.h and sample.c. */
#include "sample.h"

int main(void)
{
    static const float logits[4] = {1, 3, 2, 3};
    static const int32_t there[1] = {1};
    sample_opts opts = sample_defaults();
    sampler s;
    int32_t first = -1, second = -1;
    int right;
    opts.repetition_penalty = 2; /* 3 becomes 1.5 */
    right = !sample_begin(&s, &opts, 4) && !sample_saw(&s, there, 1) && !sample_next(&s, logits, &first);
    right = right && !sample_next(&s, logits, &second) && first == 3 && second == 2;
    sample_end(&s);
    return !right;
}
