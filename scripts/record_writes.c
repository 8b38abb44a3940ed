// Preloaded into a process, this records each step that changes files in one folder: RECORD_FOLDER, to RECORD_LOG.
//
// A record is a line "KIND OFFSET SIZE NAME", then SIZE bytes: C creates a file, W writes, T cuts at OFFSET, S syncs (the
// folder itself if NAME is "."), U removes. It is written after the step. scripts/power_loss_store.py reads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void put(int log, const void* data, size_t size) { syscall(SYS_write, log, data, size); }

// The part of the path below the folder, "." for the folder itself, or null.
static const char* below(const char* path) {
    const char* folder = getenv("RECORD_FOLDER");
    if (!folder || strncmp(path, folder, strlen(folder)) != 0) return NULL;
    path += strlen(folder);
    return *path == 0 ? "." : *path == '/' ? path + 1 : NULL;
}

static void record(char kind, const char* path, long offset, const void* data, size_t size) {
    const char *name = below(path), *target = getenv("RECORD_LOG");
    if (!name || !target) return;
    char head[5000];
    const int length = snprintf(head, sizeof head, "%c %ld %zu %s\n", kind, offset, size, name);
    const int log = (int)syscall(SYS_openat, AT_FDCWD, target, O_WRONLY | O_CREAT | O_APPEND, 0600);
    put(log, head, (size_t)length);
    put(log, data, size);
    syscall(SYS_close, log);
}

static void record_open(char kind, int file, long offset, const void* data, size_t size) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    record(kind, path, offset, data, size);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int creates(const char* path, int flags) { return (flags & O_CREAT) && access(path, F_OK) != 0; }

#define OPEN(name)                                            \
    int name(const char* path, int flags, ...) {              \
        va_list more;                                         \
        va_start(more, flags);                                \
        const mode_t mode = va_arg(more, mode_t);             \
        va_end(more);                                         \
        const int is_new = creates(path, flags);              \
        const int file = REAL(name)(path, flags, mode);       \
        if (is_new && file >= 0) record('C', path, 0, "", 0); \
        return file;                                          \
    }
OPEN(open)
OPEN(open64)

#define PWRITE(name, offset_type)                                                \
    ssize_t name(int file, const void* data, size_t size, offset_type offset) {  \
        const ssize_t written = REAL(name)(file, data, size, offset);            \
        if (written > 0) record_open('W', file, offset, data, (size_t)written);  \
        return written;                                                          \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int file, const void* data, size_t size) {
    const off_t offset = lseek(file, 0, SEEK_CUR);
    const ssize_t written = REAL(write)(file, data, size);
    if (written > 0 && offset >= 0) record_open('W', file, offset, data, (size_t)written);
    return written;
}

#define TRUNCATE(name, size_type)                              \
    int name(int file, size_type size) {                       \
        const int error = REAL(name)(file, size);              \
        if (!error) record_open('T', file, (long)size, "", 0); \
        return error;                                          \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                    \
    int name(int file) {                              \
        const int error = REAL(name)(file);           \
        if (!error) record_open('S', file, 0, "", 0); \
        return error;                                 \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char* path) {
    const int error = REAL(unlink)(path);
    if (!error) record('U', path, 0, "", 0);
    return error;
}
