// SPDX-License-Identifier: MIT
//
// The runtime's voice: single lines on standard error, written with one call
// so that lines of several threads do not mix. Each begins with "bigleaf: ".
//
#ifndef BL_OS_MESSAGE_H
#define BL_OS_MESSAGE_H

#include "base/base.h"

// Starts a line in the caller's buffer.
void bl_message_begin(struct bl_text *t, char *buffer, size_t capacity);
// Ends the line and writes it.
void bl_message_end(struct bl_text *t);
// One line of fixed text.
void bl_message(const char *text);
// One line, then abort.
BL_NORETURN BL_COLD void bl_fatal(const char *text);

#endif
