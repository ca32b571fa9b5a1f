/* An LD_PRELOAD that shows a whole program the tree FAKE_ROOT where it asks for this machine's hardware, so that nothing in the program need know.
 *
 * A path that the tree has is read from the tree. A path below HIDDEN that it has not is missing, whatever this machine has. Others stay. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const HIDDEN[] = {
    "/sys/bus/pci", "/sys/module", "/sys/class/dmi", "/sys/firmware/efi", "/proc/driver/nvidia", "/proc/device-tree", "/dev/nvidia", "/dev/dxg", "/dev/dri",
    "/.dockerenv", "/run/.containerenv", "/run/secrets/kubernetes.io", "/run/systemd/container", "/.singularity.d", "/etc/nv_tegra_release",
    "/usr/lib/wsl" };

static const char *tree;
static char tops[1024]; /* "/dev/etc/proc/": the folders at the top of the tree. Most paths are below none, and asking for each would slow the program down. */

__attribute__((constructor)) static void look(void)
{
    tree = getenv("FAKE_ROOT");
    DIR *(*really)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
    DIR *top = tree ? really(tree) : NULL;
    if (!top) return;
    size_t end = 1;
    *tops = '/';
    for (struct dirent *entry; (entry = readdir(top)) && end + strlen(entry->d_name) + 2 < sizeof tops;)
        end += sprintf(tops + end, "%s/", entry->d_name);
    closedir(top);
}

static int has_top(const char *path)
{
    size_t length = strcspn(path + 1, "/") + 1;
    for (const char *place = tops; (place = strchr(place, '/')) && place[1]; place++)
        if (!strncmp(place, path, length) && place[length] == '/') return 1;
    return 0;
}

static const char *seen(const char *path, char *room)
{
    if (!tree || !path || *path != '/' || !strncmp(path, tree, strlen(tree))) return path;
    snprintf(room, PATH_MAX, "%s%s", tree, path);
    struct stat found; /* asked of the kernel: our own lstat would ask again */
    if (has_top(path) && !syscall(SYS_newfstatat, AT_FDCWD, room, &found, AT_SYMLINK_NOFOLLOW) && !S_ISDIR(found.st_mode)) return room;
    for (size_t i = 0; i < sizeof HIDDEN / sizeof *HIDDEN; i++)
        if (!strncmp(path, HIDDEN[i], strlen(HIDDEN[i]))) return room;
    return path;
}

#define REAL(name) ({ static __typeof__(&name) real; real ? real : (real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)); })
#define ONE(type, name, path, parameters, arguments) type name parameters { char room[PATH_MAX]; path = seen(path, room); return REAL(name) arguments; }
#define OPEN(name, before, folder) \
    int name(before const char *path, int flags, ...) \
    { \
        char room[PATH_MAX]; \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return REAL(name)(folder seen(path, room), flags, mode); \
    }
#define COMMA ,

OPEN(open, , )
OPEN(open64, , )
OPEN(openat, int folder COMMA, folder COMMA)
OPEN(openat64, int folder COMMA, folder COMMA)
ONE(FILE *, fopen, path, (const char *path, const char *mode), (path, mode))
ONE(FILE *, fopen64, path, (const char *path, const char *mode), (path, mode))
ONE(DIR *, opendir, path, (const char *path), (path))
ONE(int, stat, path, (const char *restrict path, struct stat *restrict out), (path, out))
ONE(int, stat64, path, (const char *restrict path, struct stat64 *restrict out), (path, out))
ONE(int, lstat, path, (const char *restrict path, struct stat *restrict out), (path, out))
ONE(int, lstat64, path, (const char *restrict path, struct stat64 *restrict out), (path, out))
ONE(int, fstatat, path, (int folder, const char *restrict path, struct stat *restrict out, int flags), (folder, path, out, flags))
ONE(int, fstatat64, path, (int folder, const char *restrict path, struct stat64 *restrict out, int flags), (folder, path, out, flags))
ONE(int, access, path, (const char *path, int mode), (path, mode))
ONE(int, faccessat, path, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags))
ONE(ssize_t, readlink, path, (const char *restrict path, char *restrict out, size_t size), (path, out, size))
ONE(ssize_t, readlinkat, path, (int folder, const char *restrict path, char *restrict out, size_t size), (folder, path, out, size))

int __xstat(int version, const char *path, struct stat *out) { (void)version; return stat(path, out); } /* programs built before glibc 2.33 */
int __xstat64(int version, const char *path, struct stat64 *out) { (void)version; return stat64(path, out); }
int __lxstat(int version, const char *path, struct stat *out) { (void)version; return lstat(path, out); }
int __lxstat64(int version, const char *path, struct stat64 *out) { (void)version; return lstat64(path, out); }
