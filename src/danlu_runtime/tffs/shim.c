/* TensorFlow's file system plugin: its tables of functions, before the part written in Python.

   Layouts are those of tensorflow/c/experimental/filesystem/filesystem_interface.h (ABI 0, API 0),
   written out because TensorFlow need not be there where this is built.

   What only moves bytes of a file of this machine stays here, without Python: reads of the embedded
   store, and appends to a draft. All else asks Python, through a gate that is shut before the
   interpreter ends: a thread of TensorFlow's that comes later is told so, and does not crash. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 3, EXHAUSTED = 8, PRECONDITION = 9, OUT_OF_RANGE = 11, INTERNAL = 13,
       UNAVAILABLE = 14 };
/* The order is that of operations.py. */
enum { OPEN_READ, OPEN_WRITE, OPEN_APPEND, CREATE_DIR, MAKE_DIRS, DELETE_FILE, DELETE_DIR, DELETE_TREE,
       RENAME, COPY, EXISTS, STAT, IS_DIRECTORY, CHILDREN, MATCHING };
/* The order is that of files.py. */
enum { FLUSH, CLOSE, RELEASE, ABANDON };
enum { BUFFER = 1 << 16 };

typedef void Status;
typedef struct { void *plugin; } Handle;
typedef struct { int64_t length, mtime_ns; bool is_directory; } Statistics;

static void (*set_status)(Status *, int code, const char *text);
static int64_t (*ask)(int what, const char *path, const char *other, void *out, Status *);
static int64_t (*read_remote)(int64_t file, uint64_t offset, size_t size, char *buffer, Status *);
static void (*settle)(int64_t file, int how, Status *);

/* The gate. */

static int inside, shut;

static bool enter(Status *status) {
  __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&shut, __ATOMIC_SEQ_CST)) return true;
  __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
  if (status) set_status(status, UNAVAILABLE, "Python is ending: object stores cannot be reached any more.");
  return false;
}

static void leave(void) { __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST); }

static int64_t asked(int what, const char *path, const char *other, void *out, Status *status) {
  set_status(status, OK, "");
  if (!enter(status)) return -1;
  int64_t answer = ask(what, path, other, out, status);
  leave();
  return answer;
}

void danlu_begin(void *status, void *asks, void *reads, void *settles) {
  set_status = status, ask = asks, read_remote = reads, settle = settles;
}
void danlu_shut(void) { __atomic_store_n(&shut, 1, __ATOMIC_SEQ_CST); }
int danlu_inside(void) { return __atomic_load_n(&inside, __ATOMIC_SEQ_CST); }

/* Gives TensorFlow ``count`` names, which follow each other with a zero byte after each. */
void danlu_names(char ***out, const char *names, int count) {
  *out = malloc(sizeof(char *) * (count ? count : 1));
  for (int i = 0; i < count; names += strlen(names) + 1) (*out)[i++] = strdup(names);
}

/* Files to read: by descriptor, or -1 where Python has the bytes. */

typedef struct { int64_t id; int descriptor; } Reader;

static Reader *open_reader(const char *path, Status *status) {
  int descriptor = -1;
  int64_t id = asked(OPEN_READ, path, NULL, &descriptor, status);
  if (id < 0) return NULL;
  Reader *reader = malloc(sizeof *reader);
  *reader = (Reader){id, descriptor};
  return reader;
}

static void close_reader(Reader *reader) {
  if (enter(NULL)) settle(reader->id, RELEASE, NULL), leave();
  free(reader);
}

static int64_t read_descriptor(int descriptor, uint64_t offset, size_t size, char *buffer, Status *status) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread(descriptor, buffer + done, size - done, (off_t)(offset + done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return set_status(status, INTERNAL, strerror(errno)), -1;
    done += (size_t)got;
  }
  return (int64_t)done;
}

static int64_t read_bytes(Reader *reader, uint64_t offset, size_t size, char *buffer, Status *status) {
  set_status(status, OK, "");
  int64_t done = -1;
  if (reader->descriptor >= 0) done = read_descriptor(reader->descriptor, offset, size, buffer, status);
  else if (enter(status)) done = read_remote(reader->id, offset, size, buffer, status), leave();
  if (done >= 0 && (size_t)done < size) set_status(status, OUT_OF_RANGE, "The file ends here.");
  return done;
}

static void reader_open(void *fs, const char *path, Handle *file, Status *status) { file->plugin = open_reader(path, status); }
static void reader_cleanup(Handle *file) { close_reader(file->plugin); }
static int64_t reader_read(const Handle *file, uint64_t offset, size_t size, char *buffer, Status *status) {
  return read_bytes(file->plugin, offset, size, buffer, status);
}

/* Files to write: appends go to a draft of this machine, which Python stores. */

typedef struct Writer {
  int64_t id, end; /* where the next byte of the draft goes, those in the buffer not counted */
  int descriptor;
  pid_t owner; /* the draft is not a child's to write, though it has the descriptor */
  bool failed;
  size_t used;
  struct Writer *next;
  char buffer[BUFFER];
} Writer;

/* Of all writers: when Python ends, danlu_drain comes between the thread that writes and its file. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static Writer *writers;

static void lock(void) { pthread_mutex_lock(&writing); }
static void unlock(void) { pthread_mutex_unlock(&writing); }
static void write_out(Writer *writer, const char *data, size_t size, Status *status) {
  while (size && !writer->failed && writer->owner == getpid()) {
    ssize_t put = pwrite(writer->descriptor, data, size, (off_t)writer->end);
    if (put < 0 && errno == EINTR) continue;
    if ((writer->failed = put < 0)) {
      if (status) set_status(status, errno == ENOSPC || errno == EDQUOT ? EXHAUSTED : INTERNAL, strerror(errno));
      return;
    }
    data += put, size -= (size_t)put, writer->end += put;
  }
}

static void drain(Writer *writer, Status *status) {
  write_out(writer, writer->buffer, writer->used, status);
  writer->used = 0;
}

void danlu_drain(void) {
  lock();
  for (Writer *writer = writers; writer; writer = writer->next) drain(writer, NULL);
  unlock();
}

/* Tells that a draft does not hold all that was appended: it must not become an object. */
int danlu_failed(int64_t id) {
  int failed = 0;
  lock();
  for (Writer *writer = writers; writer; writer = writer->next) failed |= writer->id == id && writer->failed;
  unlock();
  return failed;
}

static void settled(Writer *writer, int how, Status *status) {
  if (status) set_status(status, OK, "");
  bool failed_before = writer->failed;
  lock();
  drain(writer, status);
  unlock();
  if (writer->failed && how == FLUSH) return;
  if (failed_before && status) set_status(status, EXHAUSTED, "Not all of it could be written; nothing is stored.");
  if (enter(status)) settle(writer->id, writer->failed && how == CLOSE ? ABANDON : how, status), leave();
}

static void open_writer(int how, const char *path, Handle *file, Status *status) {
  int descriptor = -1;
  int64_t id = asked(how, path, NULL, &descriptor, status);
  if (id < 0) return;
  Writer *writer = malloc(sizeof *writer);
  writer->id = id, writer->descriptor = descriptor, writer->owner = getpid();
  writer->failed = false, writer->used = 0, writer->end = lseek(descriptor, 0, SEEK_END);
  lock();
  writer->next = writers, writers = writer;
  unlock();
  file->plugin = writer;
}

static void writer_open(void *fs, const char *path, Handle *file, Status *status) { open_writer(OPEN_WRITE, path, file, status); }
static void writer_open_append(void *fs, const char *path, Handle *file, Status *status) { open_writer(OPEN_APPEND, path, file, status); }
static void writer_append(const Handle *file, const char *data, size_t size, Status *status) {
  Writer *writer = file->plugin;
  set_status(status, OK, "");
  lock();
  if (writer->used + size > BUFFER) drain(writer, status);
  if (size >= BUFFER) write_out(writer, data, size, status);
  else memcpy(writer->buffer + writer->used, data, size), writer->used += size;
  unlock();
}
static int64_t writer_tell(const Handle *file, Status *status) {
  Writer *writer = file->plugin;
  set_status(status, OK, "");
  return writer->end + (int64_t)writer->used;
}
static void writer_flush(const Handle *file, Status *status) { settled(file->plugin, FLUSH, status); }
static void writer_close(const Handle *file, Status *status) { settled(file->plugin, CLOSE, status); }
static void writer_cleanup(Handle *file) {
  Writer *writer = file->plugin;
  settled(writer, writer->failed ? ABANDON : RELEASE, NULL);
  lock();
  Writer **at = &writers;
  while (*at && *at != writer) at = &(*at)->next;
  if (*at) *at = writer->next;
  unlock();
  free(writer);
}

/* In a child: the other threads stayed behind, with what they were doing. */
void danlu_forked(void) {
  __atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_init(&writing, NULL);
}

/* Paths. */

static void fs_init(Handle *fs, Status *status) { set_status(status, OK, ""); }
static void fs_cleanup(Handle *fs) {}
static void create_dir(void *fs, const char *path, Status *status) { asked(CREATE_DIR, path, NULL, NULL, status); }
static void make_dirs(void *fs, const char *path, Status *status) { asked(MAKE_DIRS, path, NULL, NULL, status); }
static void delete_file(void *fs, const char *path, Status *status) { asked(DELETE_FILE, path, NULL, NULL, status); }
static void delete_dir(void *fs, const char *path, Status *status) { asked(DELETE_DIR, path, NULL, NULL, status); }
static void delete_tree(void *fs, const char *path, uint64_t *files, uint64_t *folders, Status *status) {
  *files = 0, *folders = asked(DELETE_TREE, path, NULL, NULL, status) < 0;
}
static void rename_file(void *fs, const char *path, const char *to, Status *status) { asked(RENAME, path, to, NULL, status); }
static void copy_file(void *fs, const char *path, const char *to, Status *status) { asked(COPY, path, to, NULL, status); }
static void exists(void *fs, const char *path, Status *status) { asked(EXISTS, path, NULL, NULL, status); }
static void statistics(void *fs, const char *path, Statistics *out, Status *status) {
  int64_t found[3];
  if (asked(STAT, path, NULL, found, status) >= 0) *out = (Statistics){found[0], found[1], found[2] != 0};
}
static bool is_directory(void *fs, const char *path, Status *status) { return asked(IS_DIRECTORY, path, NULL, NULL, status) > 0; }
static int64_t file_size(void *fs, const char *path, Status *status) {
  int64_t found[3];
  if (asked(STAT, path, NULL, found, status) < 0) return -1;
  if (found[2]) return set_status(status, PRECONDITION, "A directory has no size."), -1;
  return found[0];
}
static char *translate_name(void *fs, const char *path) { return strdup(path); } /* '//' is kept */
static int children(void *fs, const char *path, char ***out, Status *status) { return (int)asked(CHILDREN, path, NULL, out, status); }
static int matching(void *fs, const char *path, char ***out, Status *status) { return (int)asked(MATCHING, path, NULL, out, status); }

/* Memory that holds a whole file. */

typedef struct { uint64_t length; char data[] __attribute__((aligned(64))); } Region; /* for Eigen */

static void region_open(void *fs, const char *path, Handle *out, Status *status) {
  int64_t size = file_size(fs, path, status);
  if (size == 0) set_status(status, INVALID, "An empty file cannot be mapped to memory.");
  Reader *reader = size > 0 ? open_reader(path, status) : NULL;
  if (!reader) return;
  Region *region = NULL;
  if (posix_memalign((void **)&region, 64, sizeof *region + (size_t)size)) set_status(status, EXHAUSTED, "There is not memory enough for this file.");
  else if (read_bytes(reader, 0, (size_t)size, region->data, status) == size) region->length = (uint64_t)size;
  else free(region), region = NULL;
  close_reader(reader);
  out->plugin = region;
}
static void region_cleanup(Handle *file) { free(file->plugin); }
static const void *region_data(const Handle *file) { return ((Region *)file->plugin)->data; }
static uint64_t region_length(const Handle *file) { return ((Region *)file->plugin)->length; }

/* Registration: TensorFlow frees the tables with our own free. */

typedef struct { int abi, api; size_t size; void *functions; } Table;
typedef struct { char *scheme; Table filesystem, reader, writer, region; } Operations;
typedef struct { size_t schemes; Operations *operations; void *(*allocate)(size_t); void (*release)(void *); } Info;

static Table table(size_t count, void **functions) {
  size_t size = count * sizeof(void *);
  return (Table){0, 0, size, memcpy(malloc(size), functions, size)};
}
#define TABLE(...) table(sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), (void *[]){__VA_ARGS__})

__attribute__((visibility("default"))) void TF_InitPlugin(Info *info) {
  static const char *schemes[] = {"s3", "obs", "ks3", "cos"};
  size_t count = sizeof schemes / sizeof *schemes;
  info->schemes = count, info->allocate = malloc, info->release = free;
  info->operations = calloc(count, sizeof(Operations));
  for (size_t i = 0; i < count; i++)
    info->operations[i] = (Operations){
        strdup(schemes[i]),
        TABLE(fs_init, fs_cleanup, reader_open, writer_open, writer_open_append, region_open, create_dir,
              make_dirs, delete_file, delete_dir, delete_tree, rename_file, copy_file, exists, NULL, statistics,
              is_directory, file_size, translate_name, children, matching, NULL),
        TABLE(reader_cleanup, reader_read),
        TABLE(writer_cleanup, writer_append, writer_tell, writer_flush, writer_flush, writer_close),
        TABLE(region_cleanup, region_data, region_length)};
}
