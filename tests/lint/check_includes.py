#!/usr/bin/python3
"""check_includes.py [ROOT]: includes of service/ go one way.

1. A folder includes its own headers and those of folders on a lower level, never a sibling's or a higher one's.
2. A foreign header is included in one folder only; one that no table here knows is refused, so that a new dependency
   gets its home on purpose.
3. Own headers are named from service/ ("base/text.h") and exist.
4. No cycle among headers.
"""
import os
import re
import sys

import source

LEVELS = [
    ['base'],
    ['config', 'metrics', 'loop', 'domain'],
    ['codec'],
    ['store', 'redis', 'client'],
    ['schedule'],  # facade/ and events/ hold the bodies of jobs
    ['http', 'facade', 'locks', 'run', 'events'],
    ['endpoints', 'timeouts', 'inbox'],
    ['.'],  # main.c, app.c: the composition root
]
LEVEL_OF = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}

FOREIGN_HOMES = [
    (r'uv(/.*)?\.h', 'loop'),
    (r'jansson\.h', 'codec'),
    (r'openssl/.*', 'codec'),
    (r'(mysql|mariadb)(/.*)?(\.h)?', 'store'),
    (r'(mysql|mysqld_error|errmsg|ma_.*|mariadb_.*)\.h', 'store'),
    (r'hiredis(/.*|\.h)', 'redis'),
    (r'microhttpd\.h', 'http'),
    (r'curl/.*', 'client'),
    (r'librdkafka/.*', 'events'),
]

# The C library and the kernel; a header that is none of these is somebody's.
SYSTEM = set('''assert ctype errno fcntl float inttypes limits locale math pthread poll sched semaphore signal stdalign
stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings sysexits syslog time unistd getopt
netdb ifaddrs iconv langinfo wchar pwd grp dirent ucontext execinfo dlfcn endian byteswap malloc'''.split())
SYSTEM_FOLDERS = ('sys/', 'netinet/', 'arpa/', 'net/', 'linux/')

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


def is_system(name):
    return name.startswith(SYSTEM_FOLDERS) or (name.endswith('.h') and name[:-2] in SYSTEM)


def home_of(name):
    for pattern, home in FOREIGN_HOMES:
        if re.fullmatch(pattern, name):
            return home
    return None


def folder_of(path):
    return os.path.dirname(path) or '.'


def foreign_problem(folder, name):
    if is_system(name):
        return None
    home = home_of(name)
    if home is None:
        return f'<{name}> has no home: name one in tests/lint/check_includes.py'
    if home != folder.split('/')[0]:
        return f'<{name}> belongs to {home}/ alone'
    return None


def own_problem(folder, name, known):
    if name not in known:
        return f'"{name}" is not a file of service/ (own headers are named from there)'
    mine, theirs = folder.split('/')[0], folder_of(name).split('/')[0]
    if mine == theirs or theirs not in LEVEL_OF:
        return None
    if LEVEL_OF[theirs] >= LEVEL_OF[mine]:
        return f'{mine}/ must not include "{name}": {theirs}/ is not below it'
    return None


def cycles(edges):
    """Each cycle among headers once, as the list of its members."""
    found, state, path = [], {}, []

    def visit(node):
        state[node] = 'open'
        path.append(node)
        for following in edges.get(node, []):
            if state.get(following) == 'open':
                found.append(path[path.index(following):] + [following])
            elif following not in state:
                visit(following)
        path.pop()
        state[node] = 'done'

    for node in sorted(edges):
        if node not in state:
            visit(node)
    return found


def check(root):
    service = os.path.join(root, 'service')
    paths = [path for path in source.walked(service) if path.endswith(('.c', '.h', '.def'))]
    known, problems, edges = set(paths), [], {}
    for path in sorted(paths):
        folder = folder_of(path)
        if folder.split('/')[0] not in LEVEL_OF:
            problems.append(f'service/{path}:1: folder {folder}/ has no level: name one in tests/lint/check_includes.py')
            continue
        text = source.without_comments(source.read(service, path) or '')
        for match in INCLUDE.finditer(text):
            own, foreign = match.groups()
            problem = own_problem(folder, own, known) if own else foreign_problem(folder, foreign)
            if problem:
                problems.append(f'service/{path}:{source.line_of(text, match.start(match.lastindex))}: {problem}')
            if own in known and not path.endswith('.c'):
                edges.setdefault(path, []).append(own)
    problems += [f'service/{cycle[0]}:1: header cycle: {" → ".join(cycle)}' for cycle in cycles(edges)]
    return problems


if __name__ == '__main__':
    sys.exit(source.report(check(sys.argv[1] if len(sys.argv) > 1 else '.'), 'includes'))
