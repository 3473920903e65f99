// SPDX-License-Identifier: MIT
//
// Carries a trace out. Thread 0 is the calling thread; the others wait for
// their turn at a semaphore and hand back at another, so that all runs in the
// order of the trace and everything one thread did is seen by the next.
//
#include "model.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_EVERY 1024

struct pool_state {
    struct bl_pool *pool;
    size_t bytes;
    size_t align;
    size_t blocks;
};

struct state {
    const struct model_api *api;
    struct shadow *shadow;
    struct pool_state pool[MODEL_POOLS];
    const struct trace *trace;
    size_t from; // the turn: operations [from, to)
    size_t to;
    const char *wrong;
    size_t wrong_at;
    sem_t back;
};

struct worker {
    struct state *state;
    pthread_t thread;
    sem_t turn;
    bool running;
    bool ending;
};

static const char *add(struct state *s, const struct op *op, void *at,
                       size_t size, size_t align, bool zeroed) {
    s->shadow->block[op->slot].kind = BLOCK_HEAP;
    const char *const wrong =
        shadow_add(s->shadow, op->slot, at, size, align, zeroed);
    if (wrong != NULL)
        return wrong;
    if (s->api->usable_size(at) < size)
        return "the usable size is less than what was asked for";
    return NULL;
}

static const char *do_realloc(struct state *s, const struct op *op) {
    struct shadow_block *const b = &s->shadow->block[op->slot];
    if (b->kind == BLOCK_POOL)
        return NULL;
    if (b->kind == BLOCK_NONE)
        return add(s, op, s->api->realloc(NULL, op->a), op->a, 16, false);
    const char *wrong = shadow_check(s->shadow, op->slot);
    if (wrong != NULL)
        return wrong;
    void *const at = s->api->realloc(b->at, op->a);
    if (op->a == 0) {
        shadow_remove(s->shadow, op->slot);
        return at == NULL ? NULL : "realloc to 0 gave a block";
    }
    if (at == NULL)
        return "realloc found no memory";
    wrong = shadow_check_prefix(s->shadow, op->slot, at,
                                op->a < b->size ? op->a : b->size);
    shadow_remove(s->shadow, op->slot);
    return wrong != NULL ? wrong : add(s, op, at, op->a, 16, false);
}

static const char *do_free(struct state *s, const struct op *op) {
    struct shadow_block *const b = &s->shadow->block[op->slot];
    if (b->kind == BLOCK_NONE)
        return NULL;
    const char *const wrong = shadow_check(s->shadow, op->slot);
    if (wrong != NULL)
        return wrong;
    unsigned char *const at = b->at;
    const bool of_pool = b->kind == BLOCK_POOL;
    struct pool_state *const p = &s->pool[b->pool];
    shadow_remove(s->shadow, op->slot);
    errno = 5555;
    if (of_pool) {
        s->api->pool_free(p->pool, at);
        p->blocks--;
    } else {
        s->api->free(at);
    }
    return errno == 5555 ? NULL : "free changed errno";
}

static const char *do_absurd(struct state *s, const struct op *op) {
    struct shadow_block *const b = &s->shadow->block[op->slot];
    const size_t size = op->a | (size_t)1 << 62;
    errno = 0;
    if (s->api->malloc(size) != NULL || errno != ENOMEM)
        return "malloc granted the impossible, or errno is not ENOMEM";
    if (s->api->calloc(size / 16, 64) != NULL)
        return "calloc granted the impossible";
    if (b->kind == BLOCK_HEAP && s->api->realloc(b->at, size) != NULL)
        return "realloc granted the impossible";
    return b->kind == BLOCK_NONE ? NULL : shadow_check(s->shadow, op->slot);
}

static const char *new_pool(struct state *s, const struct op *op) {
    struct pool_state *const p = &s->pool[op->pool];
    if (s->api->pool_new == NULL || p->pool != NULL)
        return NULL;
    const struct bl_pool_spec spec = {
        .name = "model",
        .block_bytes = op->a,
        .align = op->b,
        .sharing = op->kind == OP_private ? BL_POOL_PRIVATE : BL_POOL_SHARED};
    *p = (struct pool_state){.pool = s->api->pool_new(&spec),
                             .bytes = op->a,
                             .align = op->b == 0 ? 16 : op->b};
    return p->pool != NULL ? NULL : "no memory for a pool";
}

static const char *take_block(struct state *s, const struct op *op) {
    struct pool_state *const p = &s->pool[op->pool];
    struct shadow_block *const b = &s->shadow->block[op->slot];
    if (p->pool == NULL || b->kind != BLOCK_NONE)
        return NULL;
    void *const at = s->api->pool_alloc(p->pool);
    b->kind = BLOCK_POOL;
    b->pool = op->pool;
    p->blocks++;
    return shadow_add(s->shadow, op->slot, at, p->bytes, p->align, false);
}

static const char *check_all(const struct state *s) {
    if (s->api->walk != NULL)
        s->api->walk();
    return shadow_check_all(s->shadow);
}

static const char *check_stats(struct state *s, const struct op *op) {
    static char message[160];
    struct bl_pool_stats stats;
    const struct pool_state *const p = &s->pool[op->pool];
    if (p->pool == NULL)
        return NULL;
    s->api->pool_read_stats(p->pool, &stats);
    if (stats.blocks_in_use == p->blocks && stats.block_bytes >= p->bytes &&
        stats.bytes_mapped >= p->blocks * p->bytes)
        return NULL;
    snprintf(message, sizeof message,
             "pool %u: %zu blocks of %zu bytes in %zu pages of %zu bytes, but "
             "%zu of %zu are in use",
             op->pool, stats.blocks_in_use, stats.block_bytes,
             stats.pages_in_use, stats.bytes_mapped, p->blocks, p->bytes);
    return message;
}

static const char *delete_pool(struct state *s, const struct op *op) {
    struct pool_state *const p = &s->pool[op->pool];
    if (p->pool == NULL)
        return NULL;
    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        const struct shadow_block *const b = &s->shadow->block[i];
        if (b->kind != BLOCK_POOL || b->pool != op->pool)
            continue;
        const char *const wrong = shadow_check(s->shadow, i);
        if (wrong != NULL)
            return wrong;
        shadow_remove(s->shadow, i);
    }
    s->api->pool_delete(p->pool);
    p->pool = NULL;
    return NULL;
}

static const char *perform(struct state *s, const struct op *op) {
    const bool empty = s->shadow->block[op->slot].kind == BLOCK_NONE;
    const struct model_api *const api = s->api;
    switch ((enum op_kind)op->kind) {
    case OP_malloc:
        return !empty ? NULL : add(s, op, api->malloc(op->a), op->a, 16, false);
    case OP_calloc:
        return !empty ? NULL
                      : add(s, op, api->calloc(op->a, op->b), op->a * op->b, 16,
                            true);
    case OP_align: // less is refused; the shrinker tries it
        return !empty || op->a < sizeof(void *)
                   ? NULL
                   : add(s, op, api->aligned(op->a, op->b), op->b, op->a,
                         false);
    case OP_realloc:
        return do_realloc(s, op);
    case OP_free:
        return do_free(s, op);
    case OP_usable:
        if (s->shadow->block[op->slot].kind != BLOCK_HEAP)
            return NULL;
        return api->usable_size(s->shadow->block[op->slot].at) >=
                       s->shadow->block[op->slot].size
                   ? NULL
                   : "the usable size shrank";
    case OP_absurd:
        return do_absurd(s, op);
    case OP_take:
        return take_block(s, op);
    case OP_pool:
    case OP_private:
        return new_pool(s, op);
    case OP_stats:
        return check_stats(s, op);
    case OP_delete:
        return delete_pool(s, op);
    case OP_trim:
        api->trim(0);
        return NULL;
    case OP_check:
        return check_all(s);
    case OP_end:
    case OP_KINDS:
        return NULL;
    }
    return NULL;
}

static void perform_turn(struct state *s) {
    for (size_t i = s->from; i < s->to && s->wrong == NULL; i++) {
        s->wrong_at = i;
        s->wrong = perform(s, &s->trace->ops[i]);
        if (s->wrong == NULL && i % CHECK_EVERY == CHECK_EVERY - 1)
            s->wrong = check_all(s);
    }
}

static void wait_at(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        ;
}

static void *worker_body(void *arg) {
    struct worker *const w = arg;
    for (;;) {
        wait_at(&w->turn);
        if (w->ending)
            return NULL;
        perform_turn(w->state);
        sem_post(&w->state->back);
    }
}

static void end_worker(struct worker *w) {
    if (!w->running)
        return;
    w->ending = true;
    sem_post(&w->turn);
    pthread_join(w->thread, NULL);
    sem_destroy(&w->turn);
    w->running = false;
    w->ending = false;
}

static void run_turn(struct state *s, struct worker *workers, unsigned thread) {
    struct worker *const w = &workers[thread];
    if (thread == 0) {
        perform_turn(s);
        return;
    }
    if (!w->running) {
        w->state = s;
        sem_init(&w->turn, 0, 0);
        if (pthread_create(&w->thread, NULL, worker_body, w) != 0) {
            perform_turn(s);
            return;
        }
        w->running = true;
    }
    sem_post(&w->turn);
    wait_at(&s->back);
}

static void *map_zeroed(size_t bytes) {
    void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return p;
}

// At the end all blocks are given back, so that leaks of a run would show.
static void free_everything(struct state *s) {
    for (unsigned i = 0; i < MODEL_SLOTS && s->wrong == NULL; i++) {
        const struct op op = {.kind = OP_free, .slot = (uint16_t)i};
        s->wrong = do_free(s, &op);
    }
    for (unsigned i = 0; i < MODEL_POOLS && s->wrong == NULL; i++) {
        struct op op = {.kind = OP_stats, .pool = (uint8_t)i};
        s->wrong = check_stats(s, &op);
        if (s->wrong == NULL)
            s->wrong = delete_pool(s, &op);
    }
}

const char *replay(const struct model_api *api, const struct trace *t,
                   size_t *failed_at) {
    struct worker workers[MODEL_THREADS] = {0};
    struct state s = {.api = api, .trace = t};
    s.shadow = map_zeroed(sizeof *s.shadow);
    sem_init(&s.back, 0, 0);
    while (s.to < t->count && s.wrong == NULL) {
        const struct op *const first = &t->ops[s.to];
        s.from = s.to;
        if (first->kind == OP_end && first->thread > 0) {
            end_worker(&workers[first->thread]);
            s.to++;
            continue;
        }
        while (s.to < t->count && t->ops[s.to].thread == first->thread &&
               (t->ops[s.to].kind != OP_end || first->thread == 0))
            s.to++;
        run_turn(&s, workers, first->thread);
    }
    for (unsigned i = 1; i < MODEL_THREADS; i++)
        end_worker(&workers[i]);
    if (s.wrong == NULL) {
        s.wrong_at = t->count;
        free_everything(&s);
        if (s.wrong == NULL)
            s.wrong = check_all(&s);
    }
    sem_destroy(&s.back);
    munmap(s.shadow, sizeof *s.shadow);
    *failed_at = s.wrong_at;
    return s.wrong;
}

static void replay_and_exit(const struct model_api *api, const struct trace *t,
                            char *why, size_t why_capacity) {
    size_t at = 0;
    const char *const wrong = replay(api, t, &at);
    if (wrong != NULL)
        snprintf(why, why_capacity, "operation %zu: %s", at, wrong);
    _exit(wrong != NULL);
}

bool replay_in_child(const struct model_api *api, const struct trace *t,
                     char *why, size_t why_capacity) {
    static char *shared;
    const size_t shared_bytes = 4096;
    if (shared == NULL)
        shared = map_zeroed(shared_bytes);
    shared[0] = '\0';
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        replay_and_exit(api, t, shared, shared_bytes);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && status == 0)
        return true;
    if (WIFSIGNALED(status))
        snprintf(shared, shared_bytes, "ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (why != NULL)
        snprintf(why, why_capacity, "%s", shared);
    return false;
}
