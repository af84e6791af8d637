/* lockstock serve | migrate | run | healthcheck | version | help */
#include "app.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

static int print_version(const struct config *config) {
    (void)config;
    puts("lockstock " LOCKSTOCK_VERSION);
    return 0;
}

static int print_help(const struct config *config) {
    (void)config;
    puts("usage: lockstock serve | migrate | run | healthcheck | version | help\n\n"
         "serve        answer HTTP until SIGTERM\n"
         "migrate      bring the database's tables up to date, once, whoever asks\n"
         "run          run a command under a lock; lockstock run --help\n"
         "healthcheck  exit 0 when the service on LOCKSTOCK_LISTEN is alive\n\n"
         "Settings come from the environment; those marked secret also from a file named by …_FILE:\n");
    config_print(false);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const struct config *config);
    bool needs_config;
} commands[] = {
    {"serve", app_serve, true},          {"migrate", app_migrate, true}, {"healthcheck", app_healthcheck, true},
    {"version", print_version, false},   {"help", print_help, false},    {"--help", print_help, false},
    {"--version", print_version, false},
};

int main(int argc, char **argv) {
    static struct config config;
    char error[512];
    if (argc >= 2 && strcmp(argv[1], "run") == 0) return run_main(argc - 2, argv + 2);
    for (size_t i = 0; argc == 2 && i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        if (commands[i].needs_config && failed(config_read(&config, error, sizeof error))) {
            fprintf(stderr, "lockstock: %s\n", error);
            return 2;
        }
        return commands[i].run(&config);
    }
    fprintf(stderr, "usage: lockstock serve | migrate | run | healthcheck | version | help\n");
    return 2;
}
