/* Who reads the keyboard: the command gets the terminal when we had it to ourselves, so that Ctrl-C, Ctrl-Z and
   programs that ask questions work as without us. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Standard input and output are our terminal and our process group is the one in its foreground. */
bool terminal_is_ours(void);
/* Puts a group into the foreground; SIGTTOU must be blocked. */
void terminal_give(pid_t group);
/* Takes the terminal back from a group; one that somebody else has meanwhile stays theirs. */
void terminal_take(pid_t group);
