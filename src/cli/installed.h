// SPDX-License-Identifier: MIT
//
// Where the files are that belong to this command: beside it, whether it was
// installed, moved as a whole, or runs from its build folder.
//
#ifndef BL_CLI_INSTALLED_H
#define BL_CLI_INSTALLED_H

#include "cli/cli.h"

// The path of library file `name`, to be freed: in ../lib or the library folder
// as seen from the command, else where it would have been installed. It need
// not exist.
char *bl_installed_library(const char *name);
// The path of command `name` in this one's folder, to be freed; NULL: none.
char *bl_installed_command(const char *name);
// The folder of the public headers beside this command's, to be freed; NULL:
// none.
char *bl_installed_headers(void);

#endif
