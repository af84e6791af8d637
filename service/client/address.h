/* Which network addresses a request may go to. Pure. Any thread.

   What somebody else names as a target must not become a way into our own network: the address is judged when a
   connection is about to be opened, after the name was looked up, so a name that changes its address between two
   look-ups gains nothing. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

enum reach {
    REACH_ANY,     /* the operator chose the target */
    REACH_PUBLIC,  /* addresses of the public Internet alone */
    REACH_PRIVATE, /* also loopback and private networks; never link-local ones, those of cloud metadata, or none's */
};

/* An address of a family that is neither IPv4 nor IPv6 is allowed for REACH_ANY alone. IPv6 addresses that carry an
   IPv4 one (mapped, NAT64) are judged by that one. Source: the IANA registries of special-purpose addresses. */
bool address_is_allowed(const struct sockaddr *address, enum reach reach);
