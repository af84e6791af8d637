/* CRC-32 as of zlib and of SQL's CRC32(): an event's part must be the same whoever computes it. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const char *data, size_t len);
