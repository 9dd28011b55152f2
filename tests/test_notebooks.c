/* The numbers that the five notebooks print, in one table, against the library, to the digits that rounding leaves. */
#include "test.h"

enum { MOST_RESULTS = 96 };

static struct {
    const char *name;
    attn_mat m;
} results[MOST_RESULTS];
static size_t result_count;
static attn_ctx ctx; /* with the instruction set in turn */

static attn_mat keep(const char *name, attn_mat m)
{
    results[result_count].name = name;
    results[result_count++].m = m;
    return m;
}

static attn_mat given(const char *name, attn_dtype dtype, size_t rows, size_t cols, const double *values)
{
    return keep(name, test_numbers(dtype, rows, cols, values));
}

static attn_mat room(const char *name, attn_dtype dtype, size_t rows, size_t cols)
{
    return keep(name, test_mat(dtype, rows, cols, PACKED));
}

static attn_mat times(const char *name, attn_mat a, attn_mat b)
{
    attn_mat out = room(name, a.dtype, a.rows, b.cols);
    CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &ctx), ATTN_OK);
    return out;
}

static attn_mat softmax(const char *name, attn_mat in)
{
    attn_mat out = room(name, in.dtype, in.rows, in.cols);
    CHECK_STATUS(attn_softmax_ctx(out, in, &ctx), ATTN_OK);
    return out;
}

static attn_mat row_sums(const char *name, attn_mat m)
{
    static double one = 1;
    attn_mat ones = {&one, ATTN_F64, m.cols, 1, 0, 0};
    return times(name, m, ones);
}

/* ---- the computations ---- */

/* 000 and 001: x, three weights, and the seven steps. */
static void self_attention(void)
{
    static const double inputs[] = {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1}, query[] = {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1};
    static const double key[] = {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0}, value[] = {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0};
    attn_mat x = given("0 x", ATTN_F64, 3, 4, inputs), wq = given("0 w_query", ATTN_F64, 4, 3, query);
    attn_mat wk = given("0 w_key", ATTN_F64, 4, 3, key), wv = given("0 w_value", ATTN_F64, 4, 3, value);
    attn_mat q = times("0 Q", x, wq), k = times("0 K", x, wk), v = times("0 V", x, wv), weights, none = {0};
    attn_mat scores = room("0 scores", ATTN_F64, 3, 3), each = room("0 attention", ATTN_F64, 3, 3),
             out = room("0 output", ATTN_F64, 1, 3);
    CHECK_STATUS(attn_scores(scores, q, k, 1), ATTN_OK);
    weights = softmax("0 weights", scores);
    CHECK_STATUS(attn_weighted_values(each, attn_mat_rows(weights, 0, 1), v), ATTN_OK);
    CHECK_STATUS(attn_weighted_sum(out, attn_mat_rows(weights, 0, 1), v), ATTN_OK);
    CHECK_STATUS(attn_attention(room("0 output at once", ATTN_F64, 1, 3), none, attn_mat_rows(q, 0, 1), k, v, 1),
                 ATTN_OK);
}

/* 002: four words in f32. */
static void four_words(void)
{
    static const double words[] = {0, 1, 1, 2, 1, 0, 0, 2, 1, 1, 0, 2, 2, 1, 1, 1},
                        query[] = {1, 1, 0, 0, 0, 0, 2, 2, 1, 2, 2, 2, 0, 0, 2, 2};
    static const double key[] = {1, 1, 0, 2, 1, 1, 2, 0, 2, 1, 0, 2, 0, 0, 0, 1},
                        value[] = {1, 2, 1, 1, 1, 2, 0, 1, 0, 0, 2, 0, 2, 1, 1, 2};
    attn_mat word = given("2 words", ATTN_F32, 4, 4, words), scores = room("2 scores", ATTN_F32, 4, 4),
             scaled = room("2 scaled", ATTN_F32, 4, 4);
    attn_mat q = times("2 Query", word, given("2 W_Q", ATTN_F32, 4, 4, query)),
             k = times("2 Key", word, given("2 W_K", ATTN_F32, 4, 4, key));
    attn_mat v = times("2 Value", word, given("2 W_V", ATTN_F32, 4, 4, value)), weights, first = attn_mat_rows(q, 0, 1),
             none = {0};
    CHECK_STATUS(attn_scores(scores, q, k, 1), ATTN_OK);
    CHECK_STATUS(attn_scores(scaled, q, k, 0), ATTN_OK); /* divided by sqrt(4) */
    weights = softmax("2 weights", scaled);
    times("2 attention", weights, v);
    CHECK_STATUS(attn_attention(room("2 attention of the first word", ATTN_F32, 1, 4), none, first, k, v, 0), ATTN_OK);
    CHECK_STATUS(attn_attention(room("2 attention at once", ATTN_F32, 4, 4), room("2 weights at once", ATTN_F32, 4, 4),
                                q, k, v, 0),
                 ATTN_OK);
}

/* 003: one decoder state against four annotations, the columns of a matrix. */
static void decoder_step(void)
{
    static const double state[] = {5, 1, 20}, states[] = {3, 12, 45, 59, 2, 5, 1, 43, 5, 4, 3, 45.3};
    attn_mat q = test_numbers(ATTN_F64, 1, 3, state), k = test_numbers(ATTN_F64, 4, 3, states), weights,
             each = room("3 applied", ATTN_F64, 4, 3);
    attn_mat scores = times("3 scores", q, attn_mat_t(k));
    times("3 score", q, attn_mat_t(attn_mat_rows(k, 0, 1)));
    weights = softmax("3 weights", scores);
    times("3 context", weights, k);
    CHECK_STATUS(attn_weighted_values(each, weights, k), ATTN_OK);
    times("3 context of the applied", test_numbers(ATTN_F64, 1, 4, (const double[]){1, 1, 1, 1}), each);
}

/* 004: six words in three dimensions. */
static void journey(void)
{
    static const double words[] = {0.43, 0.15, 0.89, 0.55, 0.87, 0.66, 0.57, 0.85, 0.64,
                                   0.22, 0.58, 0.33, 0.77, 0.25, 0.10, 0.05, 0.80, 0.55};
    static const char *const filling[] = {"4 filling 1", "4 filling 2", "4 filling 3",
                                          "4 filling 4", "4 filling 5", "4 filling 6"};
    static const char *const partial[] = {"4 partial 1", "4 partial 2", "4 partial 3"};
    attn_mat x = given("4 inputs", ATTN_F64, 6, 3, words), query = attn_mat_rows(x, 1, 1), weights, scores,
             scaled = room("4 divided", ATTN_F64, 1, 6), none = {0};
    attn_mat total, first = attn_mat_rows(x, 0, 1);
    for (size_t n = 0; n < 6; n++) { /* one score after the other into zeros */
        attn_mat so_far = room(filling[n], ATTN_F64, 1, 6);
        test_fill(so_far, 0);
        CHECK_STATUS(attn_matmul(attn_mat_cols(so_far, 0, n + 1), query, attn_mat_t(attn_mat_rows(x, 0, n + 1))),
                     ATTN_OK);
    }
    for (size_t n = 0; n < 3; n++)
        times(partial[n], attn_mat_cols(first, 0, n + 1), attn_mat_t(attn_mat_cols(query, 0, n + 1)));
    scores = times("4 scores of the second", query, attn_mat_t(x));
    total = row_sums("4 sum of its scores", scores);
    CHECK_STATUS(attn_matmul_ctx(scaled, query, attn_mat_t(x), 1 / attn_mat_get(total, 0, 0), &ctx), ATTN_OK);
    row_sums("4 sum of the divided", scaled);
    row_sums("4 sum of its weights", softmax("4 weights of the second", scores));
    scores = times("4 scores", x, attn_mat_t(x));
    weights = softmax("4 weights", scores);
    row_sums("4 sums of the weights", weights);
    times("4 contexts", weights, x);
    CHECK_STATUS(attn_attention(room("4 contexts at once", ATTN_F64, 6, 3), none, x, x, x, 1), ATTN_OK);
}

/* ---- what is printed: notebook, cell, result, its numbers row by row ---- */

static const struct {
    const char *notebook, *result, *text;
} printed[] = {
    {"000 [2], 001 [3]", "0 x", "1. 0. 1. 0.  0. 2. 0. 2.  1. 1. 1. 1."},
    {"000 [3], 001 [4]", "0 w_query", "1 0 1  1 0 0  0 0 1  0 1 1"},
    {"000 [4], 001 [5]", "0 w_key", "0 0 1  1 1 0  0 1 0  1 1 0"},
    {"000 [5], 001 [6]", "0 w_value", "0 2 0  0 3 0  1 0 3  1 1 0"},
    {"000 [6], 001 [7]", "0 Q", "1. 0. 2.  2. 2. 2.  2. 1. 3."},
    {"000 [7], 001 [8]", "0 K", "0. 1. 1.  4. 4. 0.  2. 3. 1."},
    {"000 [8], 001 [9]", "0 V", "1. 2. 3.  2. 8. 0.  2. 6. 3."},
    {"000 [9], 001 [10]", "0 scores", "2. 4. 4.  4. 16. 12.  4. 12. 10."},
    {"000 [10], 001 [11]", "0 weights",
     "0.06337894 0.46831053 0.46831053  6.03366485e-06 9.82007865e-01 1.79861014e-02  2.95387223e-04 8.80536902e-01 "
     "1.19167711e-01"},
    {"000 [11], 001 [12]", "0 V", "1. 2. 3.  2. 8. 0.  2. 6. 3."},
    {"000 [11], 001 [12]", "0 attention",
     "0.06337894 0.12675788 0.19013681  0.93662106 3.74648425 0.  0.93662106 2.80986319 1.40493159"},
    {"000 [12], 001 [13]", "0 output", "1.93662106 6.68310531 1.59506841"},
    {"000 [12], 001 [13]", "0 output at once", "1.93662106 6.68310531 1.59506841"},
    {"002 [11, 12]", "2 words", "0 1 1 2  1 0 0 2  1 1 0 2  2 1 1 1"},
    {"002 [4]", "2 W_Q", "1 1 0 0  0 0 2 2  1 2 2 2  0 0 2 2"},
    {"002 [4]", "2 W_K", "1 1 0 2  1 1 2 0  2 1 0 2  0 0 0 1"},
    {"002 [4]", "2 W_V", "1 2 1 1  1 2 0 1  0 0 2 0  2 1 1 2"},
    {"002 [6, 13]", "2 Query", "1 2 8 8  1 1 4 4  1 1 6 6  3 4 6 6"},
    {"002 [6, 13]", "2 Key", "3 2 2 4  1 1 0 4  2 2 2 4  5 4 2 7"},
    {"002 [6, 13]", "2 Value", "5 4 4 5  5 4 3 5  6 6 3 6  5 7 5 5"},
    {"002 [7, 14]", "2 scores", "55 35 54 85  29 18 28 45  41 26 40 63  53 31 50 85"},
    {"002 [8]", "2 weights", "3.0590218e-07 1.3887937e-11 1.8553905e-07 9.9999952e-01"},
    {"002 [10]", "2 attention", "5.0000005 6.999999 4.9999995 5.0000005"},
    {"002 [10]", "2 attention of the first word", "5.0000005 6.999999 4.9999995 5.0000005"},
    {"002 [15]", "2 weights",
     "3.0590218e-07 1.3887937e-11 1.8553907e-07 9.9999952e-01  3.3528148e-04 1.3702189e-06 2.0335850e-04 9.9946004e-01 "
     "1.6701253e-05 9.2372021e-09 1.0129822e-05 9.9997318e-01  1.1253516e-07 1.8795284e-12 2.5109987e-08 "
     "9.9999988e-01"},
    {"002 [15]", "2 weights at once",
     "3.0590218e-07 1.3887937e-11 1.8553907e-07 9.9999952e-01  3.3528148e-04 1.3702189e-06 2.0335850e-04 9.9946004e-01 "
     "1.6701253e-05 9.2372021e-09 1.0129822e-05 9.9997318e-01  1.1253516e-07 1.8795284e-12 2.5109987e-08 "
     "9.9999988e-01"},
    {"002 [16]", "2 attention",
     "5.0000005 6.999999 4.9999995 5.0000005  5.0002036 6.998787 4.9992557 5.0002036  5.0000105 6.99994 4.9999633 "
     "5.0000105 "
     "5. 6.9999995 5. 5."},
    {"002 [16]", "2 attention at once",
     "5.0000005 6.999999 4.9999995 5.0000005  5.0002036 6.998787 4.9992557 5.0002036  5.0000105 6.99994 4.9999633 "
     "5.0000105 "
     "5. 6.9999995 5. 5."},
    {"003", "3 score", "927"},
    {"003", "3 scores", "927 397 148 929"},
    {"003", "3 weights", "0.119202922 7.94715151e-232 0 0.880797078"},
    {"003", "3 context", "3.88079708 4.0728263 45.26423912"},
    {"003", "3 context of the applied", "3.88079708 4.0728263 45.26423912"},
    {"004 [3]", "4 filling 1", "0.9544 0.0000 0.0000 0.0000 0.0000 0.0000"},
    {"004 [3]", "4 filling 2", "0.9544 1.4950 0.0000 0.0000 0.0000 0.0000"},
    {"004 [3]", "4 filling 3", "0.9544 1.4950 1.4754 0.0000 0.0000 0.0000"},
    {"004 [3]", "4 filling 4", "0.9544 1.4950 1.4754 0.8434 0.0000 0.0000"},
    {"004 [3]", "4 filling 5", "0.9544 1.4950 1.4754 0.8434 0.7070 0.0000"},
    {"004 [3]", "4 filling 6", "0.9544 1.4950 1.4754 0.8434 0.7070 1.0865"},
    {"004 [4]", "4 partial 1", "0.2365"},
    {"004 [4]", "4 partial 2", "0.3670"},
    {"004 [4]", "4 partial 3", "0.9544"},
    {"004 [5]", "4 divided", "0.1455 0.2278 0.2249 0.1285 0.1077 0.1656"},
    {"004 [5]", "4 sum of the divided", "1.0000"},
    {"004 [6, 7]", "4 weights of the second", "0.1385 0.2379 0.2333 0.1240 0.1082 0.1581"},
    {"004 [6, 7]", "4 sum of its weights", "1."},
    {"004 [8]", "4 scores",
     "0.9995 0.9544 0.9422 0.4753 0.4576 0.6310  0.9544 1.4950 1.4754 0.8434 0.7070 1.0865  0.9422 1.4754 1.4570 "
     "0.8296 0.7154 1.0605 "
     "0.4753 0.8434 0.8296 0.4937 0.3474 0.6565  0.4576 0.7070 0.7154 0.3474 0.6654 0.2935  0.6310 1.0865 1.0605 "
     "0.6565 0.2935 0.9450"},
    {"004 [11]", "4 weights",
     "0.2098 0.2006 0.1981 0.1242 0.1220 0.1452  0.1385 0.2379 0.2333 0.1240 0.1082 0.1581  0.1390 0.2369 0.2326 "
     "0.1242 0.1108 0.1565 "
     "0.1435 0.2074 0.2046 0.1462 0.1263 0.1720  0.1526 0.1958 0.1975 0.1367 0.1879 0.1295  0.1385 0.2184 0.2128 "
     "0.1420 0.0988 0.1896"},
    {"004 [11]", "4 sums of the weights", "1.0000 1.0000 1.0000 1.0000 1.0000 1.0000"},
    {"004 [12]", "4 contexts",
     "0.4421 0.5931 0.5790  0.4419 0.6515 0.5683  0.4431 0.6496 0.5671  0.4304 0.6298 0.5510  0.4671 0.5910 0.5266  "
     "0.4177 0.6503 0.5645"},
    {"004 [12]", "4 contexts at once",
     "0.4421 0.5931 0.5790  0.4419 0.6515 0.5683  0.4431 0.6496 0.5671  0.4304 0.6298 0.5510  0.4671 0.5910 0.5266  "
     "0.4177 0.6503 0.5645"},
};

/* Half a unit of the last place of a printed number, which ends before `end`. NumPy cuts zeros off: "2." is exact. */
static double half_a_unit(const char *text, const char *end)
{
    const char *point = text, *e = text;
    int exponent = 0;
    while (point < end && *point != '.')
        point++;
    while (e < end && *e != 'e')
        e++;
    if (e < end)
        exponent = (int)strtol(e + 1, NULL, 10);
    return e - point < 2 ? 1e-9 : 0.5 * pow(10, exponent - (double)(e - point - 1));
}

/* The numbers of printed[n] against its result. */
static void check_printed(size_t n)
{
    const char *text = printed[n].text, *name = printed[n].result + 2;
    size_t which = 0, i = 0;
    attn_mat m;
    while (which < result_count && strcmp(results[which].name, printed[n].result) != 0)
        which++;
    test_case("notebook %s, %s", printed[n].notebook, name);
    if (!CHECK(which < result_count))
        return;
    for (m = results[which].m; *text; i++) {
        char *end;
        double want = strtod(text, &end), tolerance;
        test_case("%s, notebook %s, %s, number %zu", attn_isa_string(ctx.isa), printed[n].notebook, name, i);
        if (!CHECK(i < m.rows * m.cols))
            return;
        if (m.dtype == ATTN_F32) { /* printed from f32: within 2 ulp of the print, and what an exponent's rounding does */
            want = (float)want;
            tolerance = (2 + (want != 0 ? fabs(log(fabs(want))) / 4 : 0)) * (double)test_ulp(want, ATTN_F32);
        } else
            tolerance = half_a_unit(text, end) * (1 + 1e-9);
        CHECK_NEAR(attn_mat_get(m, i / m.cols, i % m.cols), want, tolerance);
        for (text = end; *text == ' ';)
            text++;
    }
    CHECK(i == m.rows * m.cols || (i == m.cols && m.dtype == ATTN_F32)); /* 002 prints its first row twice */
}

TEST(notebooks_printed)
{
    FOR_EACH_ISA (isa) {
        ctx.isa = isa;
        result_count = 0;
        four_words();
        if (test_wide == ATTN_F64) {
            self_attention();
            decoder_step();
            journey();
        }
        for (size_t n = 0; n < sizeof printed / sizeof *printed; n++)
            if (test_wide == ATTN_F64 || printed[n].result[0] == '2') /* computed in f32 */
                check_printed(n);
    }
}

/* 000 and 001, steps 8 to 10: random 3 x 64 heads, which nobody can repeat, in their places. The numbers that step 10
   shows stand in its first and last columns; everywhere else each element tells its own head, row and column. */
TEST(notebooks_heads)
{
    static const double shown[2][3][6] = {{{0.37948525, 0.90541222, 0.31783561, 0.73220475, 0.21625204, 0.94830315},
                                           {0.5912732, 0.53452929, 0.30356289, 0.57259259, 0.17643547, 0.44694757},
                                           {0.18184253, 0.30325067, 0.76975345, 0.0461338, 0.71319833, 0.39463988}},
                                          {{0.51487787, 0.13279593, 0.72858981, 0.05213404, 0.2413309, 0.79108552},
                                           {0.33775124, 0.54400559, 0.70856328, 0.98473891, 0.6014465, 0.13930668},
                                           {0.67731707, 0.19359002, 0.76657562, 0.93789978, 0.02204074, 0.50358362}}};
    for (size_t book = 0; book < 2; book++) {
        attn_mat heads[8], back[8], out = test_mat(test_wide, 3, 8 * 64, PACKED);
        test_case("notebook 00%zu [14, 15]", book);
        for (size_t h = 0; h < 8; h++) {
            heads[h] = test_mat(test_wide, 3, 64, PACKED);
            for (size_t i = 0; i < 3 * 64; i++)
                (attn_mat_set)(heads[h], i / 64, i % 64, (double)(h * 1000 + i));
        }
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 3; c++) {
                attn_mat_set(heads[0], r, c, shown[book][r][c]);
                attn_mat_set(heads[7], r, 61 + c, shown[book][r][3 + c]);
            }
        CHECK_STATUS(attn_concat_heads(out, heads, 8), ATTN_OK);
        CHECK(out.cols == 512);
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 512; c++)
                CHECK(attn_mat_get(out, r, c) == attn_mat_get(heads[c / 64], r, c % 64));
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 6; c++) {
                double x = shown[book][r][c];
                CHECK(attn_mat_get(out, r, c < 3 ? c : 506 + c) == (test_wide == ATTN_F64 ? x : (double)(float)x));
            }
        CHECK_STATUS(attn_split_heads(back, 8, out), ATTN_OK);
        for (size_t h = 0; h < 8; h++)
            CHECK(test_same_bits(back[h], heads[h]));
    }
}
