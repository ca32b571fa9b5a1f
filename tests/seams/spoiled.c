/* What the generated layer of spoiled.py needs: FAKE_SPOILED is "FUNCTION=WAY", and the answers of FUNCTION (without its _vN suffix) are
 * overwritten after the library below has given them:
 *   garbage       every bit is set             huge      numbers near the largest of their type
 *   unterminated  letters without an end       escapes   a terminal's control sequences in bytes that are no UTF-8 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *below(const char *function)
{
    static void *library;
    if (!library) library = dlopen(BELOW, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, function) : NULL;
    if (!found) {
        fprintf(stderr, "%s has no %s\n", BELOW, function);
        abort();
    }
    return found;
}

/* the way in which this function's answers are spoiled, or NULL */
static const char *way_of(const char *function)
{
    const char *told = getenv("FAKE_SPOILED"), *suffix = strrchr(function, '_');
    size_t length = suffix && suffix[1] == 'v' ? (size_t)(suffix - function) : strlen(function);
    return told && !strncmp(told, function, length) && told[length] == '=' ? told + length + 1 : NULL;
}

static void spoil(const char *way, void *answer, size_t size, int text)
{
    static const char ESCAPES[] = "\033[2J\xc3\x28\xe2\x80\xae\n";
    char *bytes = answer;
    if (!bytes || !size) return;
    if (!strcmp(way, "escapes"))
        for (size_t i = 0; i < size; i++) bytes[i] = ESCAPES[i % (sizeof ESCAPES - 1)];
    else
        memset(bytes, *way == 'g' ? 0xFF : *way == 'h' ? 0x7F : 'A', size);
    if (text && *way != 'u') bytes[size - 1] = 0;
}
