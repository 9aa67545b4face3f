/*
 * Faults inside a server that has this library preloaded (LD_PRELOAD). In one backend, from the moment that
 * faults_arm() asks for it: the n-th request for memory fails, or a cancel arrives at the n-th copy of memory. In the
 * whole server, while the file that FAULTS_FULL names exists: files whose path has the text that it holds cannot grow.
 */
#define _GNU_SOURCE
#include "postgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fmgr.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

enum kind { NOTHING, MEMORY, CANCEL };

static volatile int armed = NOTHING;
static volatile long seen = 0;  /* events since it was armed */
static volatile long first = 0; /* the one that the fault strikes at */
static volatile long last = 0;

/* Whether the fault strikes at this event. */
static bool strikes(int kind)
{
    if (armed != kind)
    {
        return false;
    }
    ++seen;
    return seen >= first && seen <= last;
}

static bool no_memory(void)
{
    if (!strikes(MEMORY))
    {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return no_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return no_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return no_memory() ? NULL : __libc_realloc(old, size);
}

void *memcpy(void *to, const void *from, size_t size)
{
    char *target = to;
    const char *source = from;
    if (strikes(CANCEL))
    {
        raise(SIGINT);
    }
    while (size-- > 0)
    {
        *target++ = *source++;
    }
    return to;
}

/* Whether the file of this descriptor is to be full, and a write up to `end` would make it grow. */
static bool is_full(int descriptor, off_t end)
{
    const char *control = getenv("FAULTS_FULL");
    char what[64] = "";
    char link[64];
    char path[1024];
    struct stat now;
    ssize_t length;
    int file;
    if (control == NULL || (file = open(control, O_RDONLY)) < 0)
    {
        return false;
    }
    length = read(file, what, sizeof what - 1);
    close(file);
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (length <= 0 || (length = readlink(link, path, sizeof path - 1)) < 0 || fstat(descriptor, &now) != 0)
    {
        return false;
    }
    path[length] = '\0';
    if (now.st_size >= end || strstr(path, what) == NULL)
    {
        return false;
    }
    errno = ENOSPC;
    return true;
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (next == NULL)
    {
        next = dlsym(RTLD_NEXT, "pwrite");
    }
    return is_full(descriptor, offset + (off_t) size) ? -1 : next(descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off_t offset)
{
    return pwrite(descriptor, data, size, offset);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset)
{
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    off_t end = offset;
    if (next == NULL)
    {
        next = dlsym(RTLD_NEXT, "pwritev");
    }
    for (int i = 0; i < count; ++i)
    {
        end += (off_t) parts[i].iov_len;
    }
    return is_full(descriptor, end) ? -1 : next(descriptor, parts, count, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off_t offset)
{
    return pwritev(descriptor, parts, count, offset);
}

int posix_fallocate(int descriptor, off_t offset, off_t size)
{
    static int (*next)(int, off_t, off_t);
    if (next == NULL)
    {
        next = dlsym(RTLD_NEXT, "posix_fallocate");
    }
    return is_full(descriptor, offset + size) ? ENOSPC : next(descriptor, offset, size);
}

int posix_fallocate64(int descriptor, off_t offset, off_t size)
{
    return posix_fallocate(descriptor, offset, size);
}

PG_FUNCTION_INFO_V1(faults_arm);
PG_FUNCTION_INFO_V1(faults_seen);

/* Let the fault `kind` strike at the events `first` to `last` from now on; gives the text, an argument of the call. */
Datum faults_arm(PG_FUNCTION_ARGS)
{
    text *value = PG_GETARG_TEXT_PP(3);
    seen = 0;
    first = PG_GETARG_INT32(1);
    last = PG_GETARG_INT32(2);
    armed = PG_GETARG_INT32(0);
    PG_RETURN_TEXT_P(value);
}

/* Disarm; gives how many events there have been. */
Datum faults_seen(PG_FUNCTION_ARGS)
{
    (void) fcinfo;
    armed = NOTHING;
    PG_RETURN_INT32((int32) seen);
}
