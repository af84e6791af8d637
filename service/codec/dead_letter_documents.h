/* Replies about dead letters. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/dead_letter.h"

/* payload is a string: it need not be JSON. What is no UTF-8 in it is replaced. payloadBytes tells how long the whole
 * is. */
void document_dead_letter(struct text *out, const struct dead_letter *letter);
