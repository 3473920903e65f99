// SPDX-License-Identifier: MIT
//
// The libraries named on the command line, each with tables and pools of its
// own inside: each of them is loaded, used and closed again and again, each
// time by a thread that ends afterwards; then all of them are there at once.
//
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define ROUNDS 10

typedef bool use_fn(void);

static bool load_and_use(const char *path, void **library) {
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*library == NULL) {
        printf("%s\n", dlerror());
        return false;
    }
    use_fn *const use = (use_fn *)dlsym(*library, "plugin_use");
    const bool ok = use != NULL && use();
    if (!ok)
        printf("%s does not work\n", path);
    return ok;
}

static void *load_and_close(void *path) {
    void *library = NULL;
    const bool ok = load_and_use(path, &library);
    if (library != NULL)
        dlclose(library);
    return ok ? path : NULL;
}

static bool in_a_thread(char *path) {
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, load_and_close, path);
    pthread_join(thread, &result);
    return result != NULL;
}

int main(int argc, char **argv) {
    bool ok = argc > 1;
    for (int round = 0; ok && round < ROUNDS; round++)
        ok = in_a_thread(argv[1]);
    for (int i = 1; ok && i < argc; i++) {
        void *library = NULL;
        ok = load_and_use(argv[i], &library);
    }
    return ok ? 0 : 1;
}
