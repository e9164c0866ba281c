// Small programs for the power-loss harness to judge, driven over stdin.
//
//   workload DIRECTORY safe               every acknowledged record is durable
//   workload DIRECTORY no-sync            records are never synced
//   workload DIRECTORY no-rename-sync     the directory is not synced after a rename
//   workload DIRECTORY everything         one of each call that the recorder knows, then exit
//
// For each line with a number N, appends record N to `records`, and for every eighth also
// publishes N as the file `latest`; then answers N on stdout. A record is 1500 bytes, so that it
// spans sectors: N as 8 bytes, then bytes (N * 31 + position) mod 256.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECORD = 1500, PUBLISH_EVERY = 8 };

#define MUST(call)                       \
    do {                                 \
        if ((call) < 0) {                \
            perror(#call);               \
            exit(1);                     \
        }                                \
    } while (0)

static void sync_directory(void) {
    int fd = open(".", O_RDONLY | O_DIRECTORY);
    MUST(fd);
    MUST(fsync(fd));
    close(fd);
}

static void append(int fd, uint64_t n) {
    unsigned char record[RECORD];
    for (size_t i = 0; i < RECORD; i++) record[i] = (unsigned char)(n * 31 + i);
    memcpy(record, &n, sizeof n);
    MUST(write(fd, record, RECORD));
}

static void publish(uint64_t n, int synced) {
    int fd = open("latest.tmp", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    MUST(fd);
    MUST(write(fd, &n, sizeof n));
    MUST(fsync(fd));
    close(fd);
    MUST(rename("latest.tmp", "latest"));
    if (synced) sync_directory();
}

static void serve(int data_synced, int renames_synced) {
    int fd = open("records", O_WRONLY | O_CREAT | O_APPEND, 0644);
    MUST(fd);
    if (data_synced) sync_directory();
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t n = strtoull(line, NULL, 10);
        append(fd, n);
        if (data_synced) MUST(fdatasync(fd));
        if (n % PUBLISH_EVERY == 0) publish(n, renames_synced);
        printf("%llu\n", (unsigned long long)n);
        fflush(stdout);
    }
}

static void *append_many(void *name) {
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
    MUST(fd);
    for (uint64_t n = 0; n < 200; n++) append(fd, n);
    close(fd);
    return NULL;
}

static void everything(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, append_many, "shared");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);

    MUST(mkdir("below", 0755));
    int fd = openat(AT_FDCWD, "below/mixed", O_RDWR | O_CREAT | O_EXCL, 0644);
    int copy = dup(fd), other = fcntl(fd, F_DUPFD_CLOEXEC, 50);
    struct iovec parts[] = {{"alpha ", 6}, {"beta ", 5}, {"gamma", 5}};
    MUST(write(fd, "zero ", 5));
    MUST(writev(copy, parts, 3));
    MUST(pwrite(other, "PWRITE", 6, 3000));
    MUST(pwritev(fd, parts, 2, 5000));
    MUST(lseek(other, 100, SEEK_SET));
    MUST(write(copy, "moved by the duplicate", 22));
    MUST(ftruncate(fd, 5004));
    if (posix_fallocate(fd, 4000, 4000) != 0) exit(1);
    MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 20000));
    MUST(rename("below/mixed", "renamed"));
    MUST(write(other, "after the rename", 16));
    MUST(link("renamed", "below/linked"));
    MUST(rename("below/linked", "below/moved"));

    int appending = open("renamed", O_WRONLY | O_APPEND);
    MUST(pwrite(appending, "appended anyway", 15, 0));
    int gone = open("gone", O_RDWR | O_CREAT, 0644);
    MUST(unlink("gone"));
    MUST(write(gone, "written after the unlink", 24));
    close(gone);
    MUST(mkdir("empty", 0755));
    MUST(rmdir("empty"));
    int reused = creat("reuses the inode of gone", 0644);
    MUST(write(reused, "new", 3));
    append_many("shortened");
    MUST(close(open("shortened", O_WRONLY | O_TRUNC)));
    int memory = open("database-shm", O_RDWR | O_CREAT, 0644);
    MUST(write(memory, "ignored", 7));
}

int main(int n_arguments, char **arguments) {
    if (n_arguments != 3) return 2;
    MUST(chdir(arguments[1]));
    const char *variant = arguments[2];
    if (strcmp(variant, "safe") == 0) serve(1, 1);
    else if (strcmp(variant, "no-sync") == 0) serve(0, 0);
    else if (strcmp(variant, "no-rename-sync") == 0) serve(1, 0);
    else if (strcmp(variant, "everything") == 0) everything();
    else return 2;
    return 0;
}
