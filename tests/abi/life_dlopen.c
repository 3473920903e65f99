// SPDX-License-Identifier: MIT
//
// dlopen and dlclose of a library that allocates in its constructor and frees
// in its destructor, from several threads; blocks outlive the library.
//
#include "bigleaf/pool.h"
#include "bl_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef char *block_fn(void);
typedef void *allocate_fn(size_t);
typedef void release_fn(void *);

static const char *plugin_path(void) {
    const char *const path = getenv("BL_TEST_PLUGIN");
    if (path == NULL)
        bl_test_skip("BL_TEST_PLUGIN names no library");
    return path;
}

static void load_and_use(const char *path, char **kept) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail_test("%s", dlerror());
        return;
    }
    block_fn *const block = (block_fn *)dlsym(library, "plugin_block");
    allocate_fn *const allocate =
        (allocate_fn *)dlsym(library, "plugin_allocate");
    release_fn *const release = (release_fn *)dlsym(library, "plugin_release");
    expect_int_eq(block()[2999], 'p');
    *kept = allocate(70000);
    release(malloc(100));
    release(allocate(200));
    dlclose(library);
}

TEST(blocks_outlive_the_library) {
    char *kept[50];
    for (int i = 0; i < 50; i++)
        load_and_use(plugin_path(), &kept[i]);
    for (int i = 0; i < 50; i++) {
        expect_int_eq(kept[i][0], 'q');
        expect_int_eq(kept[i][69999], 'q');
        free(kept[i]);
    }
}

static void *load_often(void *path) {
    for (int i = 0; i < 100; i++) {
        char *kept = NULL;
        load_and_use(path, &kept);
        free(kept);
    }
    return NULL;
}

TEST(threads_load_and_unload) {
    pthread_t thread[8];
    const char *const path = plugin_path();
    for (int i = 0; i < 8; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, load_often,
                                     (void *)(uintptr_t)path),
                      0);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
}

// A program may load our library for its pools, without preloading it, and
// unload it while a thread that used one still runs.
struct loaded {
    void *library;
    pthread_barrier_t used;
    pthread_barrier_t unloaded;
};

static void *use_a_pool(void *arg) {
    struct loaded *const l = arg;
    typedef struct bl_pool *new_fn(const struct bl_pool_spec *);
    typedef void *alloc_fn(struct bl_pool *);
    const struct bl_pool_spec spec = {"loaded", 64, 0, BL_POOL_SHARED};
    struct bl_pool *const pool =
        ((new_fn *)dlsym(l->library, "bl_pool_new"))(&spec);
    void *const p = ((alloc_fn *)dlsym(l->library, "bl_pool_alloc"))(pool);
    expect_ptr_ne(p, NULL);
    pthread_barrier_wait(&l->used);
    pthread_barrier_wait(&l->unloaded);
    return NULL;
}

TEST(threads_end_after_our_library_is_unloaded) {
    struct loaded l;
    const char *const path = getenv("BL_TEST_LIBRARY");
    if (path == NULL)
        bl_test_skip("BL_TEST_LIBRARY names no library");
    l.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (l.library == NULL)
        fail_test("%s", dlerror());
    assert_ptr_ne(l.library, NULL);
    pthread_barrier_init(&l.used, NULL, 2);
    pthread_barrier_init(&l.unloaded, NULL, 2);
    pthread_t thread;
    assert_int_eq(pthread_create(&thread, NULL, use_a_pool, &l), 0);
    pthread_barrier_wait(&l.used);
    expect_int_eq(dlclose(l.library), 0);
    pthread_barrier_wait(&l.unloaded);
    pthread_join(thread, NULL);
}
