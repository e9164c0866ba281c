// A disk that fails on command: an LD_PRELOAD library that looks at each call on a file below
// TASUKI_FAIL_ROOT whether the file TASUKI_FAIL_ORDER exists, and does what it says:
//
//     <what> <nth> <times> <ending>
//
// From the nth call on that matches, `times` calls fail: `sync` makes fsync and fdatasync return
// EIO, `space` makes every call that needs space return ENOSPC, `short` first writes half of the
// data and then does the same, `cut` makes ftruncate return ENOSPC. Only files whose names end in
// <ending> fail; `*` means all files. The count restarts with each new order. Each failure adds
// the file's path and a line feed to <order>.met.
//
// A failed sync also loses data: writes to the file since the last successful sync are undone, as
// by a kernel that drops the pages it could not write. A server that acknowledged them before the
// sync fails the test.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum what { NOTHING, SYNC, SPACE, SHORT, CUT };

struct order {
    enum what what;
    long nth, times;
    char ending[256];
};

// The bytes that a write overwrites, to be restored if its sync fails.
struct covered {
    struct covered *before;
    uint64_t inode;
    off_t offset, file_length;
    size_t length;
    char bytes[];
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char root[4096], order_path[4096];
static struct timespec order_time;
static long n_matched;
static struct covered *unsynced;

__attribute__((constructor)) static void start(void) {
    const char *below = getenv("TASUKI_FAIL_ROOT"), *order = getenv("TASUKI_FAIL_ORDER");
    if (!below || !order || strlen(below) >= sizeof root || strlen(order) + 5 > sizeof order_path)
        return;
    strcpy(root, below);
    strcpy(order_path, order);
}

static struct order read_order(void) {
    struct order order = {NOTHING, 0, 0, ""};
    char text[512], what[16];
    struct stat status;
    int fd = order_path[0] ? (int)syscall(SYS_openat, AT_FDCWD, order_path, O_RDONLY, 0) : -1;
    if (fd < 0 || fstat(fd, &status) != 0) return order;
    if (memcmp(&order_time, &status.st_ctim, sizeof order_time) != 0) {
        order_time = status.st_ctim;
        n_matched = 0;
        for (struct covered *one = unsynced, *before; one; one = before) {
            before = one->before;
            free(one);
        }
        unsynced = NULL;
    }
    long length = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    text[length < 0 ? 0 : length] = '\0';
    if (sscanf(text, "%15s %ld %ld %255s", what, &order.nth, &order.times, order.ending) != 4)
        return order;
    if (strcmp(what, "sync") == 0) order.what = SYNC;
    else if (strcmp(what, "space") == 0) order.what = SPACE;
    else if (strcmp(what, "short") == 0) order.what = SHORT;
    else if (strcmp(what, "cut") == 0) order.what = CUT;
    return order;
}

static int concerns(const struct order *order, const char *path) {
    size_t length = strlen(path), ending = strlen(order->ending);
    if (strncmp(path, root, strlen(root)) != 0) return 0;
    if (strcmp(order->ending, "*") == 0) return 1;
    return length >= ending && strcmp(path + length - ending, order->ending) == 0;
}

static void path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, size - 1);
    path[n < 0 ? 0 : n] = '\0';
}

// Counts a call that matches. The caller holds `turn`.
static int fails_now(const struct order *order, const char *path) {
    n_matched++;
    if (n_matched < order->nth || n_matched >= order->nth + order->times) return 0;
    char met[4200];
    snprintf(met, sizeof met, "%s.met", order_path);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, met, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct iovec line[] = {{(void *)path, strlen(path)}, {"\n", 1}};
    if (fd < 0 || syscall(SYS_writev, fd, line, 2) < 0) abort();
    syscall(SYS_close, fd);
    return 1;
}

// ---- space ----

// Which of two orders makes a call on `fd` fail, if either does.
static enum what fails_by(enum what one, enum what other, int fd) {
    int saved = errno;
    char path[4096];
    enum what fails = NOTHING;
    struct stat status;
    pthread_mutex_lock(&turn);
    struct order order = read_order();
    if ((order.what == one || order.what == other) && fstat(fd, &status) == 0
        && S_ISREG(status.st_mode)) {
        path_of(fd, path, sizeof path);
        if (concerns(&order, path) && fails_now(&order, path)) fails = order.what;
    }
    pthread_mutex_unlock(&turn);
    errno = saved;
    return fails;
}

// Saves the bytes that a write overwrites, if a sync is ordered to fail.
static void cover(int fd, off_t offset, size_t length) {
    int saved = errno;
    char path[4096];
    struct stat status;
    pthread_mutex_lock(&turn);
    struct order order = read_order();
    if (order.what == SYNC && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        path_of(fd, path, sizeof path);
        struct covered *one = concerns(&order, path) ? malloc(sizeof *one + length) : NULL;
        if (one) {
            int reader = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
            long n_read = reader < 0 ? -1 : syscall(SYS_pread64, reader, one->bytes, length, offset);
            if (n_read < 0) abort();
            syscall(SYS_close, reader);
            *one = (struct covered){unsynced, status.st_ino, offset, status.st_size,
                                    (size_t)n_read};
            unsynced = one;
        }
    }
    pthread_mutex_unlock(&turn);
    errno = saved;
}

static off_t place_of(int fd) {
    struct stat status;
    if (fcntl(fd, F_GETFL) & O_APPEND) return fstat(fd, &status) == 0 ? status.st_size : 0;
    return lseek(fd, 0, SEEK_CUR);
}

static ssize_t no_room(void) {
    errno = ENOSPC;
    return -1;
}

ssize_t write(int fd, const void *data, size_t length) {
    enum what fails = fails_by(SPACE, SHORT, fd);
    if (fails == SPACE || (fails == SHORT && length < 2)) return no_room();
    if (fails == SHORT) length /= 2;
    cover(fd, place_of(fd), length);
    return syscall(SYS_write, fd, data, length);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    enum what fails = fails_by(SPACE, SHORT, fd);
    if (fails == SPACE || (fails == SHORT && length < 2)) return no_room();
    if (fails == SHORT) length /= 2;
    cover(fd, offset, length);
    return syscall(SYS_pwrite64, fd, data, length, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset)
    __attribute__((alias("pwrite")));
ssize_t writev(int fd, const struct iovec *parts, int n_parts) {
    return fails_by(SPACE, SHORT, fd) ? no_room() : syscall(SYS_writev, fd, parts, n_parts);
}
int ftruncate(int fd, off_t length) {
    return fails_by(SPACE, CUT, fd) ? (int)no_room() : (int)syscall(SYS_ftruncate, fd, length);
}
int ftruncate64(int fd, off64_t length) __attribute__((alias("ftruncate")));
int posix_fallocate(int fd, off_t offset, off_t length) {
    return fails_by(SPACE, SHORT, fd) ? ENOSPC : (int)syscall(SYS_fallocate, fd, 0, offset, length);
}
int posix_fallocate64(int fd, off64_t offset, off64_t length)
    __attribute__((alias("posix_fallocate")));

// A new name needs space too.
static int open_somewhere(int directory, const char *path, int flags, mode_t mode) {
    struct stat status;
    if ((flags & O_CREAT) && path[0] == '/' && stat(path, &status) != 0) {
        pthread_mutex_lock(&turn);
        struct order order = read_order();
        int fails = (order.what == SPACE || order.what == SHORT) && concerns(&order, path)
            && fails_now(&order, path);
        pthread_mutex_unlock(&turn);
        if (fails) return (int)no_room();
    }
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

#define MODE_ARGUMENT(flags, mode)                                                  \
    mode_t mode = 0;                                                                \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {                  \
        va_list rest;                                                               \
        va_start(rest, flags);                                                      \
        mode = va_arg(rest, mode_t);                                                \
        va_end(rest);                                                               \
    }

int open(const char *path, int flags, ...) {
    MODE_ARGUMENT(flags, mode)
    return open_somewhere(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE_ARGUMENT(flags, mode)
    return open_somewhere(directory, path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char *path, int flags, ...) __attribute__((alias("openat")));

// ---- syncs ----

// Drops the saved bytes of a file; if its sync failed, restores them first, newest first.
static void settle(int fd, const char *path, int failed) {
    struct stat status;
    if (fstat(fd, &status) != 0) return;
    int writer = failed ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY, 0) : -1;
    for (struct covered **link = &unsynced; *link;) {
        struct covered *one = *link;
        if (one->inode != status.st_ino) {
            link = &one->before;
            continue;
        }
        if (failed
            && (syscall(SYS_pwrite64, writer, one->bytes, one->length, one->offset) < 0
                || syscall(SYS_ftruncate, writer, one->file_length) < 0))
            abort();
        *link = one->before;
        free(one);
    }
    if (writer >= 0) syscall(SYS_close, writer);
}

static int sync_or_fail(long call, int fd) {
    char path[4096];
    pthread_mutex_lock(&turn);
    struct order order = read_order();
    path_of(fd, path, sizeof path);
    int ours = order.what == SYNC && concerns(&order, path);
    int fails = ours && fails_now(&order, path);
    if (ours) settle(fd, path, fails);
    pthread_mutex_unlock(&turn);
    if (!fails) return (int)syscall(call, fd);
    errno = EIO;
    return -1;
}
int fsync(int fd) { return sync_or_fail(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_or_fail(SYS_fdatasync, fd); }
