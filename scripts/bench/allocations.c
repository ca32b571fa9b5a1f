/* Counts what a process holds of allocations of 1 KiB and more, for scripts/bench/fit; preloaded. */
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
static atomic_long held, most;

static void add(void *memory, int sign) {
    long size = memory ? (long)malloc_usable_size(memory) : 0;
    if (size < 1024) return;
    long now = atomic_fetch_add(&held, sign * size) + sign * size, before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {}
}

static void *added(void *memory) { add(memory, 1); return memory; }

void *malloc(size_t size) { return added(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return added(__libc_calloc(count, size)); }
void *memalign(size_t to, size_t size) { return added(__libc_memalign(to, size)); }
void *aligned_alloc(size_t to, size_t size) { return memalign(to, size); }
int posix_memalign(void **memory, size_t to, size_t size) { return (*memory = memalign(to, size)) ? 0 : 12; }
void *realloc(void *memory, size_t size) { add(memory, -1); return added(__libc_realloc(memory, size)); }
void free(void *memory) { add(memory, -1); __libc_free(memory); }

long allocations_held(void) { return atomic_load(&held); }
long allocations_most(void) { return atomic_exchange(&most, atomic_load(&held)); } /* since the last call */
