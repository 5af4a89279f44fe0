/* Runs programs that ferrograd has compiled and saved (`save` of a compiled function), without Python.
 *
 * Link with the library that `cargo build --release` makes: `cc main.c -Iinclude -Ltarget/release -lferrograd`.
 * A program may be used by several threads at a time. */
#ifndef FERROGRAD_H
#define FERROGRAD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ferrograd_dtype {
    FERROGRAD_BOOL, FERROGRAD_UINT8, FERROGRAD_INT8, FERROGRAD_UINT16, FERROGRAD_INT16, FERROGRAD_UINT32,
    FERROGRAD_INT32, FERROGRAD_UINT64, FERROGRAD_INT64, FERROGRAD_FLOAT16, FERROGRAD_BFLOAT16, FERROGRAD_FLOAT32,
    FERROGRAD_FLOAT64, FERROGRAD_COMPLEX64, FERROGRAD_COMPLEX128
};

typedef struct ferrograd_program ferrograd_program;

/* What a tensor is: its dtype (one of the above), its shape, and how many bytes its elements take in C order. */
typedef struct {
    int dtype;
    size_t rank;
    const size_t *shape; /* Lives as long as the program. */
    size_t bytes;
} ferrograd_tensor;

/* The program of a file. NULL: see ferrograd_error. */
ferrograd_program *ferrograd_load(const char *path);

/* Frees a program; NULL is none. */
void ferrograd_free(ferrograd_program *program);

/* How many arguments and results a program has. */
size_t ferrograd_arguments(const ferrograd_program *program);
size_t ferrograd_results(const ferrograd_program *program);

/* Describes an argument or a result. Returns 0, or -1 if there is no such one. A program that is NULL has none. */
int ferrograd_argument(const ferrograd_program *program, size_t index, ferrograd_tensor *tensor);
int ferrograd_result(const ferrograd_program *program, size_t index, ferrograd_tensor *tensor);

/* Computes the results from the arguments: one address for each, where all elements lie in C order. The memory of the
 * results is the caller's and overlaps nothing. Returns 0, or -1, with nothing written: see ferrograd_error. */
int ferrograd_run(ferrograd_program *program, const void *const *arguments, void *const *results);

/* What went wrong last on this thread. Lives until the next call on this thread. */
const char *ferrograd_error(void);

#ifdef __cplusplus
}
#endif
#endif
