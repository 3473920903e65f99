// SPDX-License-Identifier: MIT
//
// Runs a program to its end, watched: its signals, job control and exit status
// are those it would have had, its costs are the kernel's (wait4), and what
// backed it comes from the sampler and from the runtime's own lines.
//
#ifndef BL_CLI_LAUNCH_H
#define BL_CLI_LAUNCH_H

#include "cli/plan.h"
#include "cli/snapshot.h"

#include <signal.h>

// What the runtime did with the text of one object.
struct bl_image_note {
    char *object;
    char *reason; // why not better; "" where it is best
};

// Units of the heap that began on base pages because fresh huge pages were
// dear. Over several processes sums, and the highest price.
struct bl_deferral {
    uint64_t ever;     // units that began so
    uint64_t deferred; // of these, still on base pages at the end
    uint64_t bought;   // made huge since
    uint64_t price_us; // of a fresh huge page
};

static inline bool bl_has_deferral(const struct bl_deferral *d) {
    return d->ever > 0;
}

// What one process under the runtime wrote when it ended.
struct bl_process {
    int pid;
    int parent;
    char *executable;
    bool have_backing;
    struct bl_snapshot peak;
    struct bl_backing end;
    struct bl_deferral deferral;
    bool thp_disabled;
    char *line; // the JSON line itself
};

struct bl_result {
    char **argv; // borrowed
    int pid;
    int exit_status; // 128 + n after signal n
    int signal;      // 0: none
    int interrupt;   // a signal that asked this command to end; 0: none
    double wall, user, system; // seconds
    double keeper;             // and of the keeper's CPU time
    uint64_t keeper_calls;     // that it served
    uint64_t keeper_filtered;  // programs that it had to leave at a filter
    uint64_t largest_rss;      // of the largest process, bytes, without hugetlb
    uint64_t peak_rss;         // bytes, hugetlb counted in
    uint64_t minor_faults, major_faults;
    struct bl_snapshot peak;
    struct bl_snapshot end;
    bool thp_disabled;
    uint64_t pool_refusals;       // times the hugetlb pool had no page
    uint64_t advice_refusals;     // times MADV_HUGEPAGE failed
    int refusal_errno;            // of the last of these
    struct bl_process *processes; // in the order of their ends
    size_t process_count;
    struct bl_image_note *notes; // one per object, of all processes
    size_t note_count;
    char *mechanism_why;
    enum bl_mechanism mechanism;
    bool mechanism_failed;
    const char *pages;     // as of bl_request_pages; borrowed
    uint64_t huge_percent; // of the CPU time, for dear huge pages
    struct bl_deferral deferral;
    struct bl_deferral peak_deferral; // of those that `peak` is of
    bool peak_told;                   // by the process itself, at its end
};

// Standard streams for the program; -1: as this command's.
struct bl_streams {
    int in, out, err;
};

// What to run, and how.
struct bl_launch {
    const struct bl_command *command; // for messages
    const struct bl_program *program;
    const struct bl_plan *plan;
    struct bl_streams streams;
    const sigset_t *mask; // of signals, for the program; NULL: as it is here
    char **argv;
    const char *pages; // as of bl_request_pages; borrowed by the result
};

// 0, or the status to leave with where the program could not be started (the
// user has been told). The result is to be freed in any case.
int bl_launch(const struct bl_launch *what, struct bl_result *out);
void bl_result_free(struct bl_result *result);
// Ends as the program did: a waiting shell or script must see its signal.
// Returns the status to leave with where that was none.
int bl_launch_end_like(const struct bl_result *result);

// Replaces this command by the program; returns the status to leave with.
int bl_launch_exec(const struct bl_command *command,
                   const struct bl_program *program, const struct bl_plan *plan,
                   char **argv);

// Whoever started this command had the signal ignored, as nohup(1) does.
bool bl_signal_is_ignored(int signal);

#endif
