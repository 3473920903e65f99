// SPDX-License-Identifier: MIT
#include "runtime/runtime.h"

#include "heap/heap.h"
#include "image/image.h"
#include "runtime/fork.h"
#include "runtime/front.h"
#include "runtime/handlers.h"
#include "runtime/late.h"
#include "runtime/libc_heap.h"
#include "runtime/options.h"
#include "runtime/report.h"

#include <sys/auxv.h>
#include <unistd.h>

const char bl_runtime_version[] = "bigleaf-runtime " BL_VERSION;

static bool options_known;
static bool is_off;
// The process whose end is reported; 0: no report. Written where there is one
// thread.
static _Atomic(int) reporting_pid;

static bool is_reporting(void) { return bl_load_relaxed(&reporting_pid) != 0; }

static enum bl_backing backing(void) {
    return is_off ? BL_BACKING_BASE : (enum bl_backing)bl_options.pages;
}

static void switch_off(void) {
    const struct bl_libc_heap *libc = bl_find_libc_heap();
    if (libc != NULL)
        bl_heap_switch_off(libc);
}

static void say_decision(void) {
    if (bl_options.verbose == 0)
        return;
    static const char *const names[] = {"auto", "thp", "hugetlb", "base"};
    char buffer[160];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, BL_VERSION " ");
    bl_text_str(&t, is_off ? "off" : "on, pages=");
    if (!is_off)
        bl_text_str(&t, names[bl_options.pages]);
    bl_message_end(&t);
}

static void apply_options(char *const *environment) {
    if (options_known || environment == NULL)
        return;
    options_known = true;
    // Who starts a setuid program must not make it write where it may and he
    // may not.
    if (getauxval(AT_SECURE) == 0)
        bl_options_read(environment);
    is_off = !bl_options.on || bl_libc_heap_is_chosen();
    bl_reservoir_configure(backing(), bl_options.purge_delay_ms);
    bl_reservoir_limit_price((uint64_t)bl_options.huge_percent);
    if (bl_options.report != NULL) {
        bl_store_relaxed(&reporting_pid, bl_os_pid());
        bl_reservoir_peak_hook = bl_report_peak;
    }
    if (is_off)
        switch_off();
    say_decision();
}

static void at_first_allocation(void) {
    bl_front_find();
    apply_options(environ);
}

void (*bl_heap_start_hook)(void) = at_first_allocation;

// While there is one thread, and never for a program with raised privileges.
static void start_image(void) {
    const struct bl_image_options wanted = {
        .directory = bl_options.shadow_dir,
        .text = (enum bl_image_wish)bl_options.image,
        .data = bl_options.data,
        .stack = bl_options.stack,
        .verbose = bl_options.verbose > 0,
    };
    if (is_off)
        return;
    bl_image_start(&wanted);
    bl_late_start();
}

// A fork shares pages of the pool, and has a report of its own. Where there are
// no such pages now a process forks as it does with those of another kind.
static bool forks_matter_from_start(void) {
    if (!bl_fork_is_seen() || is_reporting())
        return true;
    const enum bl_backing wanted = backing();
    return wanted == BL_BACKING_HUGETLB ||
           (wanted == BL_BACKING_AUTO && bl_os.pool_free() > 0);
}

// musl passes a constructor no arguments.
__attribute__((constructor(101))) static void at_constructor(void) {
    if (!is_off)
        bl_free(bl_malloc(1)); // the heap starts and reads the options
    apply_options(environ);
    start_image();
    if (forks_matter_from_start())
        bl_fork_start();
    if (is_reporting())
        bl_at_quick_exit(bl_runtime_end);
}

void bl_runtime_after_fork_in_child(void) {
    bl_reservoir_begin_anew();
    if (!is_reporting())
        return;
    bl_report_after_fork_in_child();
    bl_store_relaxed(&reporting_pid, bl_os_pid());
}

// A child of vfork runs in its parent's memory: its end is not the end.
void bl_runtime_end(void) {
    if (is_reporting() && bl_os_pid() == bl_load_relaxed(&reporting_pid))
        bl_report_exit(bl_options.report);
}

__attribute__((destructor(101))) static void at_destructor(void) {
    bl_runtime_end();
}
