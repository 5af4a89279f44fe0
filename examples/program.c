/* Runs a saved program on arguments that are all 0.5, and prints its results: program FILE. */
#include <stdio.h>
#include <stdlib.h>

#include "ferrograd.h"

static int failed(void) {
    fprintf(stderr, "%s\n", ferrograd_error());
    return 1;
}

int main(int count, char **words) {
    ferrograd_program *program = ferrograd_load(count > 1 ? words[1] : "");
    if (program == NULL) return failed();
    size_t n = ferrograd_arguments(program), m = ferrograd_results(program);
    void **arguments = calloc(n + 1, sizeof *arguments), **results = calloc(m + 1, sizeof *results);
    ferrograd_tensor kind;
    for (size_t i = 0; i < n; i++) {
        ferrograd_argument(program, i, &kind);
        if (kind.dtype != FERROGRAD_FLOAT32) return fprintf(stderr, "argument %zu is not float32\n", i), 1;
        float *x = arguments[i] = malloc(kind.bytes + 1);
        for (size_t k = 0; k < kind.bytes / sizeof *x; k++) x[k] = 0.5f;
    }
    for (size_t i = 0; i < m; i++) {
        ferrograd_result(program, i, &kind);
        results[i] = malloc(kind.bytes + 1);
    }
    if (ferrograd_run(program, (const void *const *)arguments, results) != 0) return failed();
    for (size_t i = 0; i < m; i++) {
        ferrograd_result(program, i, &kind);
        printf("result %zu:", i);
        if (kind.dtype == FERROGRAD_FLOAT32)
            for (size_t k = 0; k < kind.bytes / sizeof(float); k++) printf(" %.9g", ((float *)results[i])[k]);
        printf("\n");
        free(results[i]);
    }
    for (size_t i = 0; i < n; i++) free(arguments[i]);
    free(arguments);
    free(results);
    ferrograd_free(program);
    return 0;
}
