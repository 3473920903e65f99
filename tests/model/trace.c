// SPDX-License-Identifier: MIT
//
// Traces: storage outside malloc, and the text form. One operation per line,
// `THREAD KIND [SLOT] [POOL] [NUMBER...]`; a line that begins with # and an
// empty line say nothing.
//
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct kind_info {
    const char *name;
    bool slot;
    bool pool;
    int numbers;
};

static const struct kind_info kinds[] = {
#define MODEL_INFO(name, slot, pool, numbers) {#name, slot, pool, numbers},
    MODEL_KINDS(MODEL_INFO)
#undef MODEL_INFO
};

struct trace trace_new(size_t capacity) {
    void *const ops =
        mmap(NULL, capacity * sizeof(struct op), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ops == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return (struct trace){.ops = ops, .count = 0, .capacity = capacity};
}

void trace_add(struct trace *t, struct op op) {
    if (t->count < t->capacity)
        t->ops[t->count++] = op;
}

void op_write(const struct op *op, FILE *f) {
    const struct kind_info *const kind = &kinds[op->kind];
    fprintf(f, "%u %s", op->thread, kind->name);
    if (kind->slot)
        fprintf(f, " %u", op->slot);
    if (kind->pool)
        fprintf(f, " %u", op->pool);
    if (kind->numbers > 0)
        fprintf(f, " %llu", (unsigned long long)op->a);
    if (kind->numbers > 1)
        fprintf(f, " %llu", (unsigned long long)op->b);
    fputc('\n', f);
}

void trace_write(const struct trace *t, FILE *f) {
    for (size_t i = 0; i < t->count; i++)
        op_write(&t->ops[i], f);
}

static bool read_field(char **text, uint64_t limit, uint64_t *out) {
    char *end = NULL;
    *out = strtoull(*text, &end, 0);
    const bool ok = end != *text && (limit == 0 || *out < limit);
    *text = end;
    return ok;
}

static bool op_read(struct op *op, char *text) {
    char name[16];
    uint64_t n = 0;
    int length = 0;
    memset(op, 0, sizeof *op);
    if (!read_field(&text, MODEL_THREADS, &n))
        return false;
    op->thread = (uint8_t)n;
    if (sscanf(text, "%15s%n", name, &length) != 1)
        return false;
    text += length;
    while (op->kind < OP_KINDS && strcmp(kinds[op->kind].name, name) != 0)
        op->kind++;
    if (op->kind == OP_KINDS)
        return false;
    const struct kind_info *const kind = &kinds[op->kind];
    if (kind->slot && !read_field(&text, MODEL_SLOTS, &n))
        return false;
    op->slot = kind->slot ? (uint16_t)n : 0;
    if (kind->pool && !read_field(&text, MODEL_POOLS, &n))
        return false;
    op->pool = kind->pool ? (uint8_t)n : 0;
    if (kind->numbers > 0 && !read_field(&text, 0, &op->a))
        return false;
    if (kind->numbers > 1 && !read_field(&text, 0, &op->b))
        return false;
    return text[strspn(text, " \t\r\n")] == '\0';
}

bool trace_read(struct trace *t, const char *path) {
    char line[256];
    unsigned number = 0;
    bool ok = true;
    FILE *const f = fopen(path, "r");
    if (f == NULL) {
        perror(path);
        return false;
    }
    t->count = 0;
    while (ok && fgets(line, sizeof line, f) != NULL) {
        struct op op;
        number++;
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
            continue;
        ok = op_read(&op, line);
        if (ok)
            trace_add(t, op);
        else
            fprintf(stderr, "%s:%u: not an operation: %s", path, number, line);
    }
    fclose(f);
    return ok;
}
