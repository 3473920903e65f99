// SPDX-License-Identifier: MIT
#include "runtime/options.h"

#include "os/file.h"
#include "os/os.h"

#define PATH_BYTES 4096 // as long as a path may be for the kernel

struct bl_options bl_options = {
#define BL_SWITCH(key, name, initial, help) .key = initial,
#define BL_CHOICE(key, name, initial, choices, help) .key = initial,
#define BL_NUMBER(key, name, initial, low, high, help) .key = initial,
#define BL_PATH(key, name, help)
#define BL_FOLDER BL_PATH
#include "base/options.def"
#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER
};

static void complain(const char *name, const char *value, const char *allowed) {
    char buffer[512];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, name);
    bl_text_char(&t, '=');
    bl_text_bytes(&t, value, bl_str_len(value, 100));
    bl_text_str(&t, " is not ");
    bl_text_str(&t, allowed);
    bl_text_str(&t, "; the default is used");
    bl_message_end(&t);
}

static bool parse_switch(const char *value, bool *out) {
    const bool on = bl_str_eq(value, "on") || bl_str_eq(value, "1");
    const bool known = on || bl_str_eq(value, "off") || bl_str_eq(value, "0");
    if (known)
        *out = on;
    return known;
}

static void read_switch(const char *name, const char *value, bool *out) {
    if (!parse_switch(value, out))
        complain(name, value, "on or off");
}

// `choices` is "first|second|...".
static void read_choice(const char *name, const char *value,
                        const char *choices, unsigned *out) {
    unsigned index = 0;
    for (const char *c = choices; *c; index++) {
        const char *v = value;
        while (*c && *c != '|' && *c == *v) {
            c++;
            v++;
        }
        if ((*c == '\0' || *c == '|') && *v == '\0') {
            *out = index;
            return;
        }
        while (*c && *c++ != '|')
            ;
    }
    complain(name, value, choices);
}

static void read_number(const char *name, const char *value, uint64_t low,
                        uint64_t high, uint64_t *out) {
    uint64_t x = 0;
    const char *end = value;
    if (bl_read_u64(&end, &x) && *end == '\0' && x >= low && x <= high) {
        *out = x;
        return;
    }
    char buffer[80];
    struct bl_text t;
    bl_text_init(&t, buffer, sizeof buffer);
    bl_text_str(&t, "a whole number from ");
    bl_text_u64(&t, low);
    bl_text_str(&t, " to ");
    bl_text_u64(&t, high);
    complain(name, value, buffer);
}

// The value where `entry` is NAME=value, else NULL.
static const char *value_of(const char *entry, const char *name) {
    while (*name && *entry == *name) {
        entry++;
        name++;
    }
    return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

// The switch of [Fichte-2020].
static bool asks_for_huge_pages(const char *entry) {
    const char *value = value_of(entry, "GLIBC_THP_ALWAYS");
    return value && bl_str_eq(value, "1");
}

// Kept here: a program may write over its environment, as those do that change
// their names.
#define BL_SWITCH(key, name, initial, help)
#define BL_CHOICE(key, name, initial, choices, help)
#define BL_NUMBER(key, name, initial, low, high, help)
#define BL_PATH(key, name, help) static char kept_##key[PATH_BYTES];
#define BL_FOLDER BL_PATH
#include "base/options.def"
#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER

static bool keep_path(const char *value, char kept[PATH_BYTES], size_t folder) {
    struct bl_text t = {.data = kept, .len = folder, .capacity = PATH_BYTES};
    kept[folder] = '\0';
    bl_text_str(&t, value);
    return !t.cut;
}

// A program may leave the folder that a path counts from.
static size_t put_folder(const char *value, char kept[PATH_BYTES]) {
    return *value == '\0' || *value == '/'
               ? 0
               : bl_file_working_folder(kept, PATH_BYTES);
}

// One that is too long behind its folder stays as it is.
static void read_path(const char *name, const char *value,
                      char kept[PATH_BYTES], const char **out) {
    if (!keep_path(value, kept, put_folder(value, kept)) &&
        !keep_path(value, kept, 0))
        complain(name, value, "a path of less than 4096 bytes");
    else
        *out = *value ? kept : NULL;
}

static void read_entry(const char *entry) {
    const char *value = NULL;
    if (asks_for_huge_pages(entry))
        bl_options.on = true;
#define BL_SWITCH(key, name, initial, help)                                    \
    if ((value = value_of(entry, name)) != NULL)                               \
        read_switch(name, value, &bl_options.key);
#define BL_CHOICE(key, name, initial, choices, help)                           \
    if ((value = value_of(entry, name)) != NULL)                               \
        read_choice(name, value, choices, &bl_options.key);
#define BL_NUMBER(key, name, initial, low, high, help)                         \
    if ((value = value_of(entry, name)) != NULL)                               \
        read_number(name, value, low, high, &bl_options.key);
#define BL_PATH(key, name, help)                                               \
    if ((value = value_of(entry, name)) != NULL)                               \
        read_path(name, value, kept_##key, &bl_options.key);
#define BL_FOLDER BL_PATH
#include "base/options.def"
#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER
}

void bl_options_read(char *const *environment) {
    for (; *environment; environment++) {
        const char *entry = *environment;
        if (entry[0] == 'B' || entry[0] == 'G')
            read_entry(entry);
    }
}

bool bl_options_leave_on(char *const *environment) {
    bool on = true;
    for (; *environment; environment++) {
        const char *value = value_of(*environment, "BIGLEAF");
        if (value)
            parse_switch(value, &on);
        else
            on |= asks_for_huge_pages(*environment);
    }
    return on;
}
