// SPDX-License-Identifier: MIT
#include "cli/input.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct bl_input bl_input_open(void) {
    const bool terminal = isatty(STDIN_FILENO);
    const off_t start = terminal ? -1 : lseek(STDIN_FILENO, 0, SEEK_CUR);
    const int file =
        start >= 0 ? STDIN_FILENO : open("/dev/null", O_RDONLY | O_CLOEXEC);
    return (struct bl_input){file, start, !terminal && start < 0};
}

void bl_input_rewind(const struct bl_input *in) {
    if (in->start >= 0)
        lseek(in->file, in->start, SEEK_SET);
}

bool bl_input_waits(const struct bl_input *in) {
    int bytes = 0;
    return in->may_be_lost && ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 &&
           bytes > 0;
}

void bl_input_tell(struct bl_input *in, const struct bl_command *command,
                   const char *who) {
    if (!in->may_be_lost)
        return;
    in->may_be_lost = false;
    bl_say(command,
           "standard input is no file, so %s finds it empty: give it as a file "
           "(< FILE)",
           who);
}
