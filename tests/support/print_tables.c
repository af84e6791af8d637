/* Prints docs/settings.md or docs/metrics.md from the tables the service itself uses. */
#include "config/config.h"
#include "metrics/metrics.h"

#include <stdio.h>
#include <string.h>

static void print_settings(void) {
    printf(
        "# Settings\n\n"
        "Read once from the environment at start. Nothing is clamped: a value that does not fit ends the start with a\n"
        "sentence that names the variable and its range, and so does a `LOCKSTOCK_…` variable that is not in this "
        "table.\n"
        "An unset variable means its default; an empty one means the empty text, where text is taken.\n"
        "\n"
        "This file is generated from `service/config/settings.def`; after a change there run the target "
        "`docs-update`.\n"
        "\n");
    config_print(true);
}

static void print_metrics(void) {
    printf("# Metrics\n\n"
           "`GET /metrics` answers in Prometheus text. Names that end in `_seconds` are histograms of seconds with "
           "bounds\n"
           "from 0.0005 to 10, the other histograms count things with bounds from 1 to 4096. All numbers are those of "
           "one\n"
           "process since its start.\n"
           "\n"
           "This file is generated from `service/metrics/metrics.def`; after a change there run the target "
           "`docs-update`.\n"
           "\n");
    metrics_print_markdown();
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "settings") == 0)
        print_settings();
    else if (argc == 2 && strcmp(argv[1], "metrics") == 0)
        print_metrics();
    else {
        fprintf(stderr, "usage: docs-tables settings|metrics\n");
        return 2;
    }
    return 0;
}
