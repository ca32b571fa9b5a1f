/* Reads a scenario (lines of "key=value", # comments) and acts out what it says about a call.
 *
 * call.NAME=ACT, call.NAME.GPU=ACT, call.*.GPU=ACT: an act is words from left to right:
 *   sleep MS   wait, then go on            return CODE  answer the code instead of doing the work
 *   hang       wait for a signal for ever  stuck        likewise in state D, as in a hung ioctl (killable)
 *   crash      SIGSEGV                     after N      the first N such calls are healthy
 *   ok         healthy, over a wider rule
 * NAME is without its _vN suffix. The narrowest line wins: NAME.GPU, NAME, *.GPU, *.
 *
 * While the process runs whose number stands in the file that FAKE_LOAD names, "loaded.KEY=value" goes before "KEY=value". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define HEALTHY (-1)

struct line { char *key, *value; int met; };
static void *lines; /* a tree, as a library that looks through hundreds of lines for each fact would be timed with gpudoctor */
static size_t rule_count;

static int by_key(const void *one, const void *other)
{
    return strcmp(((const struct line *)one)->key, ((const struct line *)other)->key);
}

static struct line *find(const char *format, ...)
{
    char key[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    struct line **line = tfind(&(struct line){ .key = key }, &lines, by_key);
    return line ? *line : NULL;
}

/* the process that puts the machine under load; 0: none runs */
static int loader(void)
{
    const char *path = getenv("FAKE_LOAD");
    FILE *file = path ? fopen(path, "re") : NULL;
    int pid = 0;
    if (!file) return 0;
    if (fscanf(file, "%d", &pid) != 1 || pid <= 0 || kill(pid, 0)) pid = 0;
    fclose(file);
    return pid;
}

static struct line *fact(const char *prefix, const char *key)
{
    struct line *line = loader() ? find("loaded.%s%s", prefix, key) : NULL;
    return line ? line : find("%s%s", prefix, key);
}

static const char *text_of(const char *prefix, const char *key)
{
    struct line *line = fact(prefix, key);
    return line ? line->value : NULL;
}

static unsigned long long number_of(const char *prefix, const char *key, unsigned long long otherwise)
{
    const char *text = text_of(prefix, key);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void load_scenario(const char *variable)
{
    const char *path = getenv(variable);
    FILE *file = path ? fopen(path, "re") : NULL;
    char *text = NULL;
    size_t size = 0;
    ssize_t length;
    if (!file) {
        fprintf(stderr, "%s=%s: no scenario to play: %s\n", variable, path ? path : "", strerror(errno));
        abort();
    }
    while ((length = getline(&text, &size, file)) > 0) {
        char *equals = strchr(text, '=');
        if (*text == '#' || !equals) continue;
        if (text[length - 1] == '\n') text[length - 1] = 0;
        *equals = 0;
        struct line *line = malloc(sizeof *line);
        *line = (struct line){ strdup(text), strdup(equals + 1), 0 };
        tsearch(line, &lines, by_key); /* the first of a key stays */
        rule_count += !strncmp(text, "call.", 5);
    }
    free(text);
    fclose(file);
}

static void wait_stuck(void)
{
    /* the parent of a vfork waits in state D; the child leaves with it and, sharing its memory, touches nothing */
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
}

/* appends the function, the GPU or -1, and the process to the file that FAKE_CALLS names */
static void record(const char *function, int gpu)
{
    const char *path = getenv("FAKE_CALLS");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        dprintf(file, "%s %d %d\n", function, gpu, (int)getpid());
        close(file);
    }
}

static int act(const char *function, int gpu)
{
    char name[96];
    struct line *line;
    char words[160], *rest, *word;
    record(function, gpu);
    if (!rule_count) return HEALTHY;
    snprintf(name, sizeof name, "%s", function);
    char *suffix = strrchr(name, '_');
    if (suffix && suffix[1] == 'v') *suffix = 0;
    line = gpu >= 0 ? find("call.%s.%d", name, gpu) : NULL;
    if (!line) line = find("call.%s", name);
    if (!line && gpu >= 0) line = find("call.*.%d", gpu);
    if (!line) line = find("call.*");
    if (!line) return HEALTHY;
    snprintf(words, sizeof words, "%s", line->value);
    for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (!strcmp(word, "ok")) return HEALTHY;
        if (!strcmp(word, "hang")) for (;;) pause();
        if (!strcmp(word, "stuck")) wait_stuck();
        if (!strcmp(word, "leave")) _exit(0);
        if (!strcmp(word, "crash")) { signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); }
        char *operand = strtok_r(NULL, " ", &rest);
        long number = operand ? strtol(operand, NULL, 10) : 0;
        if (!strcmp(word, "return")) return (int)number;
        if (!strcmp(word, "sleep")) {
            struct timespec left = { number / 1000, number % 1000 * 1000000 };
            while (nanosleep(&left, &left)) continue;
        }
        if (!strcmp(word, "after") && line->met++ < number) return HEALTHY;
    }
    return HEALTHY;
}
