#include "background.h"

#include "base/memory.h"

#include <stdlib.h>

/* One member for each part, in the order of their start. */
struct background {
    struct background_options options;
};

struct background *background_new(const struct background_options *options) {
    struct background *background = mem_new(sizeof *background);
    background->options = *options;
    return background;
}

void background_stop(struct background *background) {
    if (background == NULL) return;
}

bool background_is_over(const struct background *background) {
    if (background == NULL) return true;
    return true;
}

struct background *background_free(struct background *background) {
    if (background == NULL) return NULL;
    background_stop(background);
    free(background);
    return NULL;
}
