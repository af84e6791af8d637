/* The composition root: starts everything in one order, stops it in the reverse. */
#pragma once

#include "config/config.h"

/* Serves until SIGTERM or SIGINT and drains. Exit status of the process: 0 after a clean drain. */
int app_serve(const struct config *config);
/* Applies migrations. Exit status. */
int app_migrate(const struct config *config);
/* Asks the service at config->listen (or admin_listen) for /healthz. Exit status 0 when it lives. */
int app_healthcheck(const struct config *config);
