/* An LD_PRELOAD that answers the one question by which NVIDIA's user-space libraries learn the kernel module's version.
 *
 * The driver's open source calls it NV_ESC_CHECK_VERSION_STR: ioctl 200 + 10 on /dev/nvidiactl, with two words and a string of 64 bytes.
 * FAKE_KERNEL_DRIVER is the module's version. When it equals the library's own, the ioctl succeeds and every later one fails with EIO. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CONTROL "/dev/nvidiactl"
#define CHECK_VERSION_STR 210

struct version_question { unsigned command, recognised; char version[64]; };
static int control = -1;

static int open_control(void) { return control = memfd_create("nvidiactl", MFD_CLOEXEC); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return strcmp(path, CONTROL) ? openat64(AT_FDCWD, path, flags, mode) : open_control(); \
    }
OPEN(open)
OPEN(open64)

int openat64(int folder, const char *path, int flags, ...); /* glibc's own, which we do not replace */

int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return strcmp(path, CONTROL) ? openat64(folder, path, flags, mode) : open_control();
}

/* the libraries look before they open, and would otherwise try to make the node */
static int stat_control(struct stat *out)
{
    memset(out, 0, sizeof *out);
    out->st_mode = S_IFCHR | 0666;
    out->st_rdev = makedev(195, 255);
    return 0;
}

int stat(const char *path, struct stat *out) { return strcmp(path, CONTROL) ? fstatat(AT_FDCWD, path, out, 0) : stat_control(out); }
int stat64(const char *path, struct stat64 *out) { return stat(path, (struct stat *)out); /* one layout on 64-bit Linux */ }
int __xstat(int version, const char *path, struct stat *out) { (void)version; return stat(path, out); }
int __xstat64(int version, const char *path, struct stat64 *out) { (void)version; return stat(path, (struct stat *)out); }

int access(const char *path, int mode)
{
    return strcmp(path, "/sys/module/nvidia/initstate") ? faccessat(AT_FDCWD, path, mode, 0) : 0;
}

int ioctl(int descriptor, unsigned long request, ...)
{
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (descriptor != control || control < 0) {
        int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
        return real(descriptor, request, argument);
    }
    if (_IOC_NR(request) == CHECK_VERSION_STR && _IOC_SIZE(request) == sizeof(struct version_question)) {
        struct version_question *question = argument;
        const char *loaded = getenv("FAKE_KERNEL_DRIVER");
        question->recognised = loaded && !strcmp(loaded, question->version);
        if (question->recognised) return 0;
        strncpy(question->version, loaded ? loaded : "000.00.00", sizeof question->version - 1);
        errno = EINVAL;
    } else
        errno = EIO;
    return -1;
}
