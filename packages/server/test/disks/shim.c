// Plays a kernel with a failing disk under the server: preloaded, it stands between SQLite and the C library's writes
// and syncs of cubby.db and its WAL. The test controls it through a file of numbers, mapped by every process under the
// shim; see shim.ts for the other end.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

// The numbers, in the order that shim.ts names them in.
enum {
  DROP_DB_WRITES,  // while 1, writes to cubby.db succeed and change nothing. The next sync of it fails with EIO; then the disk is well
  FAIL_DB_SYNCS,   // so many syncs of cubby.db fail with EIO
  FAIL_ONLY,       // if 1, of these only fsync (SQLite's), if 2 only fdatasync (our own)
  FAIL_WAL_SYNCS,  // so many syncs of the WAL fail with EIO
  FULL_DB_WRITES,  // so many writes to cubby.db fail with ENOSPC
  FULL_WAL_WRITES, // so many writes to the WAL fail with ENOSPC
  DROPPED,         // counts writes that were dropped
  LOST,            // whether one was dropped since the last sync
  FAILED_SYNC_MS,  // a sync that fails takes so long
  FAILING,         // counts syncs that are about to fail
  FAIL_ARCHIVE_SYNCS, // so many syncs of open segments of an archive fail with EIO
  NUMBERS
};

static volatile uint32_t *numbers;

__attribute__((constructor)) static void map_numbers(void) {
  const char *path = getenv("CUBBY_SHIM_CONTROL");
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, NUMBERS * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) numbers = mapped;
}

enum { OTHER, DB, WAL, SEGMENT };

static int file_of(int fd) {
  char link[64], path[4096];
  if (!numbers) return OTHER;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return OTHER;
  path[length] = 0;
  const char *name = strrchr(path, '/');
  if (!name) return OTHER;
  if (length > 5 && !strcmp(path + length - 5, ".open")) return SEGMENT;
  return !strcmp(name, "/cubby.db") ? DB : !strcmp(name, "/cubby.db-wal") ? WAL : OTHER;
}

// Takes one from a count, if there is one left.
static int take(int which) {
  uint32_t left = numbers[which];
  while (left > 0) {
    if (__atomic_compare_exchange_n(&numbers[which], &left, left - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return 1;
  }
  return 0;
}

// Whether the shim answers a write of `bytes` itself, and with what.
static int answer_write(int fd, size_t bytes, ssize_t *answer) {
  int file = file_of(fd);
  if (file == DB && numbers[DROP_DB_WRITES]) {
    __atomic_add_fetch(&numbers[DROPPED], 1, __ATOMIC_SEQ_CST);
    numbers[LOST] = 1;
    *answer = (ssize_t)bytes;
    return 1;
  }
  if ((file == DB && take(FULL_DB_WRITES)) || (file == WAL && take(FULL_WAL_WRITES))) {
    errno = ENOSPC;
    *answer = -1;
    return 1;
  }
  return 0;
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *from, size_t bytes) {
  REAL(write);
  ssize_t answer;
  return answer_write(fd, bytes, &answer) ? answer : real(fd, from, bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) {
  REAL(pwrite);
  ssize_t answer;
  return answer_write(fd, bytes, &answer) ? answer : real(fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at) {
  REAL(pwrite64);
  ssize_t answer;
  return answer_write(fd, bytes, &answer) ? answer : real(fd, from, bytes, at);
}

static int fails(int file, uint32_t call) {
  if (file == WAL) return take(FAIL_WAL_SYNCS);
  if (file == SEGMENT) return take(FAIL_ARCHIVE_SYNCS);
  if (file != DB) return 0;
  if (__atomic_exchange_n(&numbers[LOST], 0, __ATOMIC_SEQ_CST)) {
    numbers[DROP_DB_WRITES] = 0;
    return 1;
  }
  return (numbers[FAIL_ONLY] == 0 || numbers[FAIL_ONLY] == call) && take(FAIL_DB_SYNCS);
}

static int answer_sync(int fd, uint32_t call) {
  if (!fails(file_of(fd), call)) return 0;
  __atomic_add_fetch(&numbers[FAILING], 1, __ATOMIC_SEQ_CST);
  usleep(numbers[FAILED_SYNC_MS] * 1000);
  errno = EIO;
  return 1;
}

int fsync(int fd) {
  REAL(fsync);
  return answer_sync(fd, 1) ? -1 : real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return answer_sync(fd, 2) ? -1 : real(fd);
}
