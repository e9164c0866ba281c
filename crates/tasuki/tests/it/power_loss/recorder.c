// The power-loss recorder: an LD_PRELOAD library that appends every change below the directory
// TASUKI_RECORD_ROOT to the file TASUKI_RECORD_LOG, in the order in which the changes took effect.
//
// It keeps no table of descriptors. Each operation asks the kernel which file it is about: fstat
// gives the inode, /proc/self/fd the present path. So duplicated and inherited descriptors,
// renamed files and files opened behind our back (raw system calls) need no special care.
//
// One mutex covers each change and its record, hence log order is effect order, and at most one
// change per process is missing from the log when the process is killed. A sync is two records,
// its start (what is written later is not covered) and its end (from here on it is a promise), and
// holds no lock in between.
//
// What it cannot express (directory renames, O_DSYNC, ...) becomes an UNSUPPORTED
// record, which the reader refuses: better no answer than a wrong one. What it cannot see (raw
// system calls, shared mappings, stdio) is found by Log::unrecorded. Files named `*-shm` are
// ignored, they are SQLite's shared memory and not durable state. sync_file_range promises nothing
// and is not recorded.
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
#include <time.h>
#include <unistd.h>

enum kind {
    CREATE = 1, WRITE, TRUNCATE, ALLOCATE, SYNC_START, SYNC_END,
    RENAME, UNLINK, MAKE_DIRECTORY, REMOVE_DIRECTORY, UNSUPPORTED, LINK,
};
enum { IS_DIRECTORY = 1, IS_DELETED = 2 };

// The reader in log.rs knows this layout.
struct header {
    uint32_t magic;
    uint16_t kind, flags;
    uint64_t at_ns, inode, value;
    uint32_t path_length, other_length;
    uint64_t data_length;
};
#define MAGIC 0x736b7574u

struct file {
    char path[4200];
    uint64_t inode, size;
    uint16_t flags;
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static char root[4096];
static size_t root_length;
static int log_fd = -1;
static uint32_t n_syncs;

__attribute__((constructor)) static void start(void) {
    const char *below = getenv("TASUKI_RECORD_ROOT"), *log = getenv("TASUKI_RECORD_LOG");
    if (!below || !log || strlen(below) >= sizeof root) return;
    strcpy(root, below);
    root_length = strlen(root);
    int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        perror("power-loss recorder: cannot open the log");
        abort();
    }
    // Out of the way of programs that expect low descriptors.
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
    log_fd = high < 0 ? fd : high;
    if (high >= 0) syscall(SYS_close, fd);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int below_root(const char *path) {
    size_t length = strlen(path);
    if (length >= 4 && strcmp(path + length - 4, "-shm") == 0) return 0;
    return strncmp(path, root, root_length) == 0
        && (path[root_length] == '/' || path[root_length] == '\0');
}

// The present path of an open descriptor, or "" if it has none.
static void path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, size - 1);
    path[n < 0 ? 0 : n] = '\0';
}

// Whether `fd` is a file or directory that we record, and if so which.
static int tracked(int fd, struct file *file) {
    if (log_fd < 0) return 0;
    int saved = errno, ours = 0;
    struct stat status;
    if (fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
        path_of(fd, file->path, sizeof file->path);
        file->inode = status.st_ino;
        file->size = (uint64_t)status.st_size;
        file->flags = S_ISDIR(status.st_mode) ? IS_DIRECTORY : 0;
        size_t length = strlen(file->path), mark = strlen(" (deleted)");
        if (status.st_nlink == 0 && length > mark) {
            file->flags |= IS_DELETED;
            file->path[length - mark] = '\0';
        }
        ours = below_root(file->path);
    }
    errno = saved;
    return ours;
}

// Whether the name `path` is one that we record: its directory is resolved, its last part is not.
static int tracked_name(int directory, const char *path, struct file *file) {
    if (log_fd < 0 || !path) return 0;
    int saved = errno, ours = 0;
    char parent[4096];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    size_t cut = length;
    while (cut > 0 && path[cut - 1] != '/') cut--;
    if (length < sizeof parent) {
        memcpy(parent, path, cut);
        parent[cut] = '\0';
        int fd = syscall(SYS_openat, directory, cut ? parent : ".",
                         O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        if (fd >= 0) {
            path_of(fd, file->path, sizeof file->path);
            syscall(SYS_close, fd);
            size_t used = strlen(file->path);
            int room = (int)(sizeof file->path - used), last = (int)(length - cut);
            ours = snprintf(file->path + used, room, "/%.*s", last, path + cut) < room
                && below_root(file->path);
        }
    }
    struct stat status;
    file->inode = file->flags = 0;
    if (ours && fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        file->inode = status.st_ino;
        file->flags = S_ISDIR(status.st_mode) ? IS_DIRECTORY : 0;
    }
    errno = saved;
    return ours;
}

// Appends one record. The caller holds `order`.
static void emit(enum kind kind, uint64_t at_ns, const struct file *file, uint64_t value,
                 const char *other, const void *data, size_t length) {
    int saved = errno;
    struct header header = {
        .magic = MAGIC, .kind = (uint16_t)kind, .flags = file->flags, .at_ns = at_ns,
        .inode = file->inode, .value = value, .path_length = (uint32_t)strlen(file->path),
        .other_length = (uint32_t)strlen(other), .data_length = length,
    };
    struct iovec parts[] = {
        {&header, sizeof header}, {(void *)file->path, header.path_length},
        {(void *)other, header.other_length}, {(void *)data, length},
    };
    size_t total = sizeof header + header.path_length + header.other_length + length;
    if (syscall(SYS_writev, log_fd, parts, 4) != (long)total) {
        perror("power-loss recorder: cannot append to the log");
        abort();
    }
    errno = saved;
}

static void emit_alone(enum kind kind, const struct file *file, uint64_t value, const char *other) {
    pthread_mutex_lock(&order);
    emit(kind, now_ns(), file, value, other, NULL, 0);
    pthread_mutex_unlock(&order);
}

// ---- open and create ----

static int open_recorded(int directory, const char *path, int flags, mode_t mode) {
    if (log_fd < 0 || !(flags & (O_CREAT | O_TRUNC | O_DSYNC)))
        return (int)syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&order);
    int saved = errno;
    struct stat status;
    int existed = fstatat(directory, path, &status, 0) == 0;
    errno = saved;
    uint64_t at_ns = now_ns();
    int fd = (int)syscall(SYS_openat, directory, path, flags, mode);
    struct file file;
    if (fd >= 0 && tracked(fd, &file)) {
        if (!existed) emit(CREATE, at_ns, &file, 0, "", NULL, 0);
        else if (flags & O_TRUNC) emit(TRUNCATE, at_ns, &file, 0, "", NULL, 0);
        if (flags & O_DSYNC) emit(UNSUPPORTED, at_ns, &file, 0, "O_DSYNC", NULL, 0);
    }
    pthread_mutex_unlock(&order);
    return fd;
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
    return open_recorded(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE_ARGUMENT(flags, mode)
    return open_recorded(directory, path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char *path, int flags, ...) __attribute__((alias("openat")));
int creat(const char *path, mode_t mode) {
    return open_recorded(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char *path, mode_t mode) __attribute__((alias("creat")));

// ---- contents ----

enum { AT_POSITION = -1 };

// `offset` is AT_POSITION for the calls that use and move the position of the descriptor.
static ssize_t write_recorded(int fd, const struct file *file, const struct iovec *parts,
                              int n_parts, off_t offset) {
    pthread_mutex_lock(&order);
    int saved = errno;
    struct stat status;
    uint64_t lands_at = (uint64_t)offset;
    if (fcntl(fd, F_GETFL) & O_APPEND) {
        fstat(fd, &status);
        lands_at = (uint64_t)status.st_size;
    } else if (offset == AT_POSITION) {
        lands_at = (uint64_t)lseek(fd, 0, SEEK_CUR);
    }
    errno = saved;
    uint64_t at_ns = now_ns();
    ssize_t written = offset == AT_POSITION ? syscall(SYS_writev, fd, parts, n_parts)
                                            : syscall(SYS_pwritev, fd, parts, n_parts, offset, 0);
    if (written > 0) {
        char *joined = n_parts == 1 ? NULL : malloc((size_t)written);
        if (!joined && n_parts != 1) abort();
        size_t filled = 0, wanted = (size_t)written;
        for (int i = 0; joined && filled < wanted; i++) {
            size_t left = wanted - filled;
            size_t part = parts[i].iov_len < left ? parts[i].iov_len : left;
            memcpy(joined + filled, parts[i].iov_base, part);
            filled += part;
        }
        emit(WRITE, at_ns, file, lands_at, "", joined ? joined : parts[0].iov_base, wanted);
        free(joined);
    }
    pthread_mutex_unlock(&order);
    return written;
}

ssize_t write(int fd, const void *data, size_t length) {
    struct file file;
    struct iovec part = {(void *)data, length};
    if (!tracked(fd, &file)) return syscall(SYS_write, fd, data, length);
    return write_recorded(fd, &file, &part, 1, AT_POSITION);
}
ssize_t writev(int fd, const struct iovec *parts, int n_parts) {
    struct file file;
    if (!tracked(fd, &file)) return syscall(SYS_writev, fd, parts, n_parts);
    return write_recorded(fd, &file, parts, n_parts, AT_POSITION);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    struct file file;
    struct iovec part = {(void *)data, length};
    if (offset < 0 || !tracked(fd, &file)) return syscall(SYS_pwrite64, fd, data, length, offset);
    return write_recorded(fd, &file, &part, 1, offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int n_parts, off_t offset) {
    struct file file;
    if (offset < 0 || !tracked(fd, &file))
        return syscall(SYS_pwritev, fd, parts, n_parts, offset, 0);
    return write_recorded(fd, &file, parts, n_parts, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset)
    __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *parts, int n_parts, off64_t offset)
    __attribute__((alias("pwritev")));

int ftruncate(int fd, off_t length) {
    struct file file;
    if (!tracked(fd, &file)) return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&order);
    uint64_t at_ns = now_ns();
    int result = (int)syscall(SYS_ftruncate, fd, length);
    if (result == 0) emit(TRUNCATE, at_ns, &file, (uint64_t)length, "", NULL, 0);
    pthread_mutex_unlock(&order);
    return result;
}
int ftruncate64(int fd, off64_t length) __attribute__((alias("ftruncate")));

int fallocate(int fd, int mode, off_t offset, off_t length) {
    struct file file;
    if (!tracked(fd, &file)) return (int)syscall(SYS_fallocate, fd, mode, offset, length);
    pthread_mutex_lock(&order);
    uint64_t at_ns = now_ns();
    int result = (int)syscall(SYS_fallocate, fd, mode, offset, length);
    if (result == 0 && mode == 0)
        emit(ALLOCATE, at_ns, &file, (uint64_t)(offset + length), "", NULL, 0);
    else if (result == 0 && mode != FALLOC_FL_KEEP_SIZE)
        emit(UNSUPPORTED, at_ns, &file, 0, "fallocate mode", NULL, 0);
    pthread_mutex_unlock(&order);
    return result;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length)
    __attribute__((alias("fallocate")));
int posix_fallocate(int fd, off_t offset, off_t length) {
    int saved = errno, result = fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
    errno = saved;
    return result;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length)
    __attribute__((alias("posix_fallocate")));

// ---- syncs ----

static int sync_recorded(int fd, long call) {
    struct file file;
    if (!tracked(fd, &file)) return (int)syscall(call, fd);
    uint64_t token = (uint64_t)getpid() << 32 | __atomic_add_fetch(&n_syncs, 1, __ATOMIC_RELAXED);
    emit_alone(SYNC_START, &file, token, "");
    int result = (int)syscall(call, fd);
    if (result == 0) emit_alone(SYNC_END, &file, token, "");
    return result;
}
int fsync(int fd) { return sync_recorded(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_recorded(fd, SYS_fdatasync); }

// ---- names ----

int renameat2(int from_directory, const char *from, int to_directory, const char *to,
              unsigned flags) {
    struct file source, target;
    pthread_mutex_lock(&order);
    int leaves = tracked_name(from_directory, from, &source);
    int enters = tracked_name(to_directory, to, &target);
    uint64_t at_ns = now_ns();
    int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
    if (result == 0 && (leaves || enters)) {
        int plain = leaves && enters && !(source.flags & IS_DIRECTORY)
            && !(flags & RENAME_EXCHANGE);
        if (plain) emit(RENAME, at_ns, &source, 0, target.path, NULL, 0);
        else emit(UNSUPPORTED, at_ns, leaves ? &source : &target, 0,
                  "rename of a directory, across the root, or an exchange", NULL, 0);
    }
    pthread_mutex_unlock(&order);
    return result;
}
int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    return renameat2(from_directory, from, to_directory, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int directory, const char *path, int flags) {
    struct file file;
    pthread_mutex_lock(&order);
    int ours = tracked_name(directory, path, &file);
    uint64_t at_ns = now_ns();
    int result = (int)syscall(SYS_unlinkat, directory, path, flags);
    if (result == 0 && ours)
        emit(flags & AT_REMOVEDIR ? REMOVE_DIRECTORY : UNLINK, at_ns, &file, 0, "", NULL, 0);
    pthread_mutex_unlock(&order);
    return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int directory, const char *path, mode_t mode) {
    struct file file;
    pthread_mutex_lock(&order);
    uint64_t at_ns = now_ns();
    int result = (int)syscall(SYS_mkdirat, directory, path, mode);
    if (result == 0 && tracked_name(directory, path, &file))
        emit(MAKE_DIRECTORY, at_ns, &file, 0, "", NULL, 0);
    pthread_mutex_unlock(&order);
    return result;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

// The record has the path of the new name; the inode says which file it is.
int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    struct file file;
    pthread_mutex_lock(&order);
    uint64_t at_ns = now_ns();
    int result = (int)syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
    if (result == 0 && tracked_name(to_directory, to, &file))
        emit(LINK, at_ns, &file, 0, "", NULL, 0);
    pthread_mutex_unlock(&order);
    return result;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

// ---- what the model cannot express ----

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length,
                        unsigned flags) {
    struct file file;
    if (tracked(to, &file)) emit_alone(UNSUPPORTED, &file, 0, "copy_file_range");
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags);
}
