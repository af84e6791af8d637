/* `lockstock run`: a command under a lock. */
#pragma once

/* argv[0..argc) is what follows "run"; argv[argc] is NULL. Exit status of the process, as run_help says. */
int run_main(int argc, char **argv);
