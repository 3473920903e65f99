// SPDX-License-Identifier: MIT
#include "os/message.h"

#include "os/os.h"

void bl_message_begin(struct bl_text *t, char *buffer, size_t capacity) {
    bl_text_init(t, buffer, capacity);
    bl_text_str(t, "bigleaf: ");
}

void bl_message_end(struct bl_text *t) {
    if (t->cut)
        t->len = t->capacity - 2;
    t->data[t->len] = '\n';
    bl_os_write(2, t->data, t->len + 1);
}

void bl_message(const char *text) {
    char buffer[512];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, text);
    bl_message_end(&t);
}

void bl_fatal(const char *text) {
    bl_message(text);
    bl_os_abort();
}

static void begin_check(struct bl_text *t, char *buffer, size_t capacity,
                        const char *file, int line, const char *what) {
    bl_message_begin(t, buffer, capacity);
    bl_text_str(t, "fault of ours at ");
    bl_text_str(t, file);
    bl_text_char(t, ':');
    bl_text_i64(t, line);
    bl_text_str(t, ": ");
    bl_text_str(t, what);
}

void bl_check_failed(const char *file, int line, const char *what) {
    char buffer[512];
    struct bl_text t;
    begin_check(&t, buffer, sizeof buffer, file, line, what);
    bl_message_end(&t);
    bl_os_abort();
}

void bl_check_eq_failed(const char *file, int line, const char *what,
                        unsigned long left, unsigned long right) {
    char buffer[512];
    struct bl_text t;
    begin_check(&t, buffer, sizeof buffer, file, line, what);
    bl_text_str(&t, ": ");
    bl_text_u64(&t, left);
    bl_text_str(&t, " != ");
    bl_text_u64(&t, right);
    bl_message_end(&t);
    bl_os_abort();
}
