#!/usr/bin/python3
"""check_banned.py [ROOT]: what no file of the project may hold.

C: calls whose bounds or threads go wrong (base/ has a helper for each), goto, heap calls outside base/memory.c.
Every text file: work left open, trailing space, a missing last newline, paths of somebody's machine, download addresses.
"""
import re
import sys

import source

# name → what to use instead
BANNED_CALLS = {
    'strcpy': 'text_format', 'strcat': 'struct text', 'strncpy': 'text_format', 'strncat': 'struct text',
    'sprintf': 'text_format', 'vsprintf': 'text_format', 'gets': 'fgets', 'strtok': 'a loop over the bytes',
    'atoi': 'text_parse_i64', 'atol': 'text_parse_i64', 'atoll': 'text_parse_i64', 'atof': 'nothing: money is integer',
    'gmtime': 'text_time', 'localtime': 'text_time', 'ctime': 'text_time', 'asctime': 'text_time',
    'rand': 'text_uuid or random bytes', 'srand': 'random bytes', 'random': 'random bytes',
    'sleep': 'a timer or a condition with a deadline', 'usleep': 'a timer or a condition with a deadline',
    'strerror': 'the number, native of struct result', 'alloca': 'mem_new', 'system': 'nothing', 'popen': 'nothing',
    'tmpnam': 'mkstemp', 'mktemp': 'mkstemp', 'setjmp': 'a result', 'longjmp': 'a result',
}
HEAP_CALLS = {name: 'mem_new, mem_array, mem_grow, mem_copy'
              for name in ('malloc', 'calloc', 'realloc', 'reallocarray', 'strdup', 'strndup', 'asprintf', 'vasprintf')}
HEAP_HOMES = ('service/base/', 'tests/')

CALL = re.compile(r'(?<![\w.>])(\w+)[ \t\n]*\(')
GOTO = re.compile(r'\bgoto\b')
# The patterns are written so that this file does not match itself.
EVERYWHERE = [
    (re.compile(r'\b(?:TO[D]O|FIX[M]E|XX[X])\b'), 'work left open belongs in an issue'),
    (re.compile(r'[ \t]+$', re.M), 'trailing space'),
    (re.compile(r'\r'), 'carriage return'),
    (re.compile(r'(?<![\w.])/(?:home|work|Users)/\w'), 'a path of one machine'),
    (re.compile(r'\b(?:deb\.debian|security\.debian|pypi|registry\.npmjs|crates|repo1?\.maven|proxy\.golang)'
                r'\.(?:org|io|apache)\b'), 'an address of a package registry'),
]
UNCHECKED = ('LICENSE',)


def c_problems(path, text):
    code = source.code_only(text)
    for match in GOTO.finditer(code):
        yield match.start(), 'goto: use cleanup attributes and early returns'
    for match in CALL.finditer(code):
        name = match.group(1)
        if name in BANNED_CALLS:
            yield match.start(), f'{name}() is banned: use {BANNED_CALLS[name]}'
        elif name in HEAP_CALLS and not path.startswith(HEAP_HOMES):
            yield match.start(), f'{name}() outside base/: use {HEAP_CALLS[name]}'


def text_problems(path, text):
    for pattern, message in EVERYWHERE:
        for match in pattern.finditer(text):
            yield match.start(), message
    if text and not text.endswith('\n'):
        yield len(text), 'no newline at the end'
    if path.endswith(('.c', '.h', '.def', '.py', '.sh', '.yaml', '.yml')) and '\t' in text:
        yield text.index('\t'), 'tab'


def check(root):
    problems = []
    for path in source.files(root):
        text = source.read(root, path)
        if text is None or path in UNCHECKED:
            continue
        found = list(text_problems(path, text))
        if path.endswith(('.c', '.h')):
            found += c_problems(path, text)
        problems += [f'{path}:{source.line_of(text, at)}: {message}' for at, message in sorted(found)]
    return problems


if __name__ == '__main__':
    sys.exit(source.report(check(sys.argv[1] if len(sys.argv) > 1 else '.'), 'banned'))
