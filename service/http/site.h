/* Where a request without a token may come from: this machine, and no foreign web page (SECURITY.md). A page of
 * another site can make a browser on this machine send requests, by name rebinding with a Host of its own. Pure; any
 * thread. */
#pragma once

#include <stdbool.h>

/* "localhost", 127.0.0.0/8 or [::1], with or without a port. NULL = no Host header: false. */
bool site_is_loopback(const char *host);
/* Values of the headers, NULL when absent. False when a browser says, or its Origin shows, another site. */
bool site_is_own(const char *origin, const char *fetch_site);
