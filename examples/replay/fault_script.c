/* SPDX-License-Identifier: MIT */
#include "fault_script.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 64
#define WORDS_MAX (3 + FAULT_ARGUMENTS_MAX)
#define FRAME_MAX 4294967295.0 /* frames are counted in 32 bits */
#define SECONDS_MAX 1e9
#define FILE_BYTES_MAX (1 << 20)
#define NOT_A_NUMBER ((double)NAN)

/** A line as words, with what messages name. */
struct line {
    const char *name; /* of the file */
    int number;
    int words;
    char word[WORDS_MAX + 1][WORD_BYTES]; /* one more than a line can have, so that it is noticed */
};

static const struct kind {
    const char *name;
    int targets, arguments_min, arguments_max;
    double least, most;
    const char *meaning;
} kind[] = {
#define FAULT_ROW(symbol, name, targets, arguments_min, arguments_max, least, most, meaning)                           \
    {name, targets, arguments_min, arguments_max, least, most, meaning},
    FAULT_KINDS(FAULT_ROW)
#undef FAULT_ROW
};

static const char *const target_name[FAULT_TARGETS] = {"camera0", "camera1", "both", "gyro",
                                                       "clock",   "link",    "cpu",  "gpu"};

const char *fault_target_name(fault_target_t target) { return target < FAULT_TARGETS ? target_name[target] : NULL; }

const char *fault_kind_name(fault_kind_t k) { return k < FAULT_KIND_COUNT ? kind[k].name : NULL; }

const char *fault_kind_meaning(fault_kind_t k) { return k < FAULT_KIND_COUNT ? kind[k].meaning : NULL; }

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static char message[4800];

__attribute__((format(printf, 2, 3))) static const char *fail(const struct line *l, const char *format, ...)
{
    va_list list;
    const int used = snprintf(message, 4300, "%s:%d: ", l->name, l->number);
    va_start(list, format);
    vsnprintf(message + (used < 4299 ? used : 4299), 480, format, list);
    va_end(list);
    return message;
}

static const char *fail_file(const char *name, const char *why)
{
    snprintf(message, sizeof message, "%.4200s: %s", name, why);
    return message;
}

/** Names of kinds, or of the targets in a set, separated by commas. */
static const char *list_names(char *text, size_t size, int kinds, int targets)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < (kinds ? (int)FAULT_KIND_COUNT : (int)FAULT_TARGETS) && used < size; i++)
        if (kinds || targets >> i & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     kinds ? kind[i].name : target_name[i]);
    return text;
}

/* ---- words of a line --------------------------------------------------------------------------------------------- */

/** A decimal number without sign at the start of a text; whole: without a fraction. Returns the rest, or NULL. */
static const char *read_number(const char *text, int whole, double *number)
{
    char *end;
    if (!isdigit((unsigned char)*text)) return NULL;
    const size_t length = strspn(text, whole ? "0123456789" : "0123456789.");
    char copy[WORD_BYTES];
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    *number = strtod(copy, &end);
    return *end ? NULL : text + length;
}

/** One end of a range: a frame, or a time with an s behind. Returns the rest, or NULL. */
static const char *read_end(const char *text, int *by_time, uint64_t *value)
{
    double number;
    const char *rest = read_number(text, 0, &number);
    *by_time = rest && *rest == 's';
    if (rest && !*by_time) rest = read_number(text, 1, &number);
    if (!rest || number > (*by_time ? SECONDS_MAX : FRAME_MAX)) return NULL;
    *value = (uint64_t)(*by_time ? number * 1e9 + 0.5 : number);
    return rest + *by_time;
}

static const char *read_when(const struct line *l, fault_t *f)
{
    const char *word = l->word[0];
    int by_time;
    const char *rest = read_end(word, &f->by_time, &f->first);
    f->last = f->first;
    f->one_time = 0;
    if (rest && !*rest) {
        f->one_time = f->by_time;
        return NULL;
    }
    if (rest && strcmp(rest, "-") == 0) {
        f->last = UINT64_MAX;
        return NULL;
    }
    if (rest && *rest == '-') {
        rest = read_end(rest + 1, &by_time, &f->last);
        if (rest && !*rest && by_time == f->by_time)
            return f->last < f->first ? fail(l, "%s: ends before it begins", word) : NULL;
    }
    return fail(l,
                "%s: not a frame or a range of frames (30, 30-44, 30-), nor of times since the first frame "
                "(1.5s, 1.5s-2.25s, 1.5s-)",
                word);
}

/** Kind first: it decides which targets are allowed. */
static const char *read_kind_and_target(const struct line *l, fault_t *f)
{
    char names[400];
    int k = 0, t = 0;
    while (t < FAULT_TARGETS && strcmp(l->word[1], target_name[t]) != 0) t++;
    if (t == FAULT_TARGETS)
        return fail(l, "%s: no such target; expected %s", l->word[1], list_names(names, sizeof names, 0, ~0));
    while (k < (int)FAULT_KIND_COUNT && strcmp(l->word[2], kind[k].name) != 0) k++;
    if (k == (int)FAULT_KIND_COUNT)
        return fail(l, "%s: no such kind; expected %s", l->word[2], list_names(names, sizeof names, 1, 0));
    if (!(kind[k].targets >> t & 1))
        return fail(l, "%s: no target of %s; expected %s", target_name[t], kind[k].name,
                    list_names(names, sizeof names, 0, kind[k].targets));
    f->kind = (fault_kind_t)k;
    f->target = (fault_target_t)t;
    return NULL;
}

/** Code of a word among `count`, from `first` on; not a number for any other. */
static double code_of(const char *word, const char *const name[], int count, int first)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, name[i]) == 0) return first + i;
    return NOT_A_NUMBER;
}

/** Value of an argument; not a number for one that does not fit its kind. */
static double argument_of(fault_kind_t k, const char *word)
{
    static const char *const mirror[] = {"x", "y", "xy"}, *const axes[] = {"yz", "xz", "xy"};
    double number;
    if (k == FAULT_FLIP) return code_of(word, mirror, 3, 1);
    if (k == FAULT_SWAPPED) return code_of(word, axes, 3, 0);
    const int negative = *word == '-';
    const int whole = k == FAULT_LATE || k == FAULT_BLUR || k == FAULT_CORRUPT || k == FAULT_BURN;
    const char *rest = read_number(word + negative, whole, &number);
    if (!rest) return NOT_A_NUMBER;
    if (*rest == 'e' && !whole) { /* an exponent */
        char *end;
        if (!isdigit((unsigned char)rest[1 + (rest[1] == '-')])) return NOT_A_NUMBER;
        number = strtod(word + negative, &end);
        rest = end;
    }
    return *rest ? NOT_A_NUMBER : negative ? -number : number;
}

static const char *read_arguments(const struct line *l, fault_t *f)
{
    const struct kind *k = &kind[f->kind];
    f->arguments = l->words - 3;
    if (f->arguments < k->arguments_min || f->arguments > k->arguments_max)
        return fail(l, "%s: %d argument%s, but %s takes %d%s; expected %s", k->name, f->arguments,
                    f->arguments == 1 ? "" : "s", k->name, k->arguments_min,
                    k->arguments_max > k->arguments_min ? " or one more" : "", k->meaning);
    for (int i = 0; i < f->arguments; i++) {
        f->argument[i] = argument_of(f->kind, l->word[3 + i]);
        if (!(f->argument[i] >= k->least && f->argument[i] <= k->most))
            return fail(l, "%s %s: not in %g..%g; expected %s", k->name, l->word[3 + i], k->least, k->most, k->meaning);
    }
    if (f->kind == FAULT_FREEZE_ROWS && f->argument[0] >= f->argument[1])
        return fail(l, "freeze-rows: no rows from %g to %g; expected %s", f->argument[0], f->argument[1], k->meaning);
    if (f->kind == FAULT_FLIP && !f->arguments) f->argument[0] = 3;
    if (f->kind == FAULT_GAP && !f->arguments) f->argument[0] = 100;
    return NULL;
}

static const char *read_seed(const struct line *l, fault_script_t *script)
{
    double number;
    const char *rest = l->words == 2 ? read_number(l->word[1], 1, &number) : NULL;
    if (!rest || *rest || number > FRAME_MAX) return fail(l, "seed: expected one whole number, 0..4294967295");
    script->seed = (uint64_t)number;
    return NULL;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *append(fault_script_t *script, const struct line *l, const fault_t *f)
{
    fault_t *more = realloc(script->fault, (script->count + 1) * sizeof *more);
    if (!more) return fail(l, "no memory");
    script->fault = more;
    script->fault[script->count++] = *f;
    return NULL;
}

static const char *read_line(fault_script_t *script, const struct line *l)
{
    fault_t f = {.line = l->number};
    if (!l->words) return NULL;
    if (strcmp(l->word[0], "seed") == 0) return read_seed(l, script);
    if (l->words < 3) return fail(l, "%s: expected WHEN TARGET KIND [ARGUMENT...] or seed N", l->word[0]);
    const char *error = read_when(l, &f);
    if (!error) error = read_kind_and_target(l, &f);
    if (!error) error = read_arguments(l, &f);
    return error ? error : append(script, l, &f);
}

/** Split a line into words, up to a comment. Returns a message for a character or a length that no word has. */
static const char *split(struct line *l, const char *from, const char *end)
{
    l->words = 0;
    while (from < end && *from != '#') {
        if (isspace((unsigned char)*from)) {
            from++;
            continue;
        }
        char *word = l->word[l->words];
        int length = 0;
        while (from < end && *from != '#' && !isspace((unsigned char)*from)) {
            if (*from < '!' || *from > '~')
                return fail(l, "byte 0x%02x: a script is plain ASCII text", (unsigned)(unsigned char)*from);
            if (length == WORD_BYTES - 1) return fail(l, "a word of more than %d characters", WORD_BYTES - 1);
            word[length++] = *from++;
        }
        word[length] = 0;
        if (++l->words > WORDS_MAX) return fail(l, "more than %d words", WORDS_MAX);
    }
    return NULL;
}

const char *fault_script_parse(fault_script_t *script, const char *name, const char *text, size_t bytes)
{
    struct line l = {.name = name};
    const char *at = text, *error = NULL;
    memset(script, 0, sizeof *script);
    script->seed = 1;
    while (!error && at < text + bytes) {
        const char *end = memchr(at, '\n', (size_t)(text + bytes - at));
        if (!end) end = text + bytes;
        l.number++;
        error = split(&l, at, end);
        if (!error) error = read_line(script, &l);
        at = end + (end < text + bytes);
    }
    if (!error && !script->count) error = fail_file(name, "no fault in it; expected lines WHEN TARGET KIND");
    if (error) fault_script_free(script);
    return error;
}

const char *fault_script_read(fault_script_t *script, const char *path)
{
    memset(script, 0, sizeof *script);
    FILE *file = fopen(path, "rb");
    if (!file) return fail_file(path, strerror(errno));
    char *text = malloc(FILE_BYTES_MAX);
    const char *error = text ? NULL : fail_file(path, "no memory");
    const size_t bytes = text ? fread(text, 1, FILE_BYTES_MAX, file) : 0;
    if (!error && ferror(file)) error = fail_file(path, strerror(errno));
    if (!error && bytes == FILE_BYTES_MAX) error = fail_file(path, "more than 1 MB, no fault script");
    if (!error) error = fault_script_parse(script, path, text, bytes);
    free(text);
    fclose(file);
    return error;
}

void fault_script_free(fault_script_t *script)
{
    free(script->fault);
    memset(script, 0, sizeof *script);
}

int fault_needs_bench(const fault_t *f) { return f->target >= FAULT_LINK; }

int fault_active(const fault_t *f, uint32_t frame, uint64_t t_ns, uint64_t before_ns)
{
    if (!f->by_time) return frame >= f->first && frame <= f->last;
    if (f->one_time) return t_ns >= f->first && (!frame || before_ns < f->first);
    return t_ns >= f->first && t_ns <= f->last;
}
