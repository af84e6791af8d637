#include "run/tree.h"

#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TREE_MAX 4096 /* processes; what does not fit is met on the next walk, when the first are dead */
#define PATH_SIZE 300
#define STAT_SIZE 512

/* Found in breadth-first order; those before `walked` have given their children. */
struct tree {
    pid_t session;
    size_t count, walked;
    pid_t pids[TREE_MAX];
};

/* Alive, and in the session. "pid (name) state ppid pgrp session …", and a name may hold anything, brackets too. */
static bool belongs(const struct tree *tree, pid_t pid) {
    char path[PATH_SIZE], stat[STAT_SIZE + 1];
    (void)text_format(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    stat[fread(stat, 1, STAT_SIZE, file)] = '\0';
    (void)fclose(file);
    const char *bracket = strrchr(stat, ')');
    char state;
    int session;
    return bracket != NULL && sscanf(bracket + 1, " %c %*d %*d %d", &state, &session) == 2 && state != 'Z' &&
           state != 'X' && session == tree->session;
}

static void add_children_of_thread(struct tree *tree, const char *path) {
    FILE *file = fopen(path, "re");
    int pid;
    while (file != NULL && tree->count < TREE_MAX && fscanf(file, "%d", &pid) == 1)
        if (belongs(tree, pid)) tree->pids[tree->count++] = pid;
    if (file != NULL) (void)fclose(file);
}

static void add_children(struct tree *tree, pid_t parent) {
    char path[PATH_SIZE];
    (void)text_format(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        if (text_format(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, entry->d_name))
            add_children_of_thread(tree, path);
    }
    if (threads != NULL) (void)closedir(threads);
}

size_t tree_signal(pid_t root, pid_t session, int number) {
    AUTO_FREE struct tree *tree = mem_new(sizeof *tree);
    tree->session = session;
    add_children(tree, root);
    while (tree->walked < tree->count) add_children(tree, tree->pids[tree->walked++]);
    for (size_t i = 0; i < tree->count && number != 0; i++) (void)kill(tree->pids[i], number);
    return tree->count;
}
