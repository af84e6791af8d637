#!/usr/bin/python3
"""check_shape.py [ROOT]: a function fits a screen and a file fits a head.

Functions of service/ and the C tests: at most 70 lines, blocks at most 4 deep (3 under the function's own), at most 8
parameters (5 is the habit; a foreign callback may ask for 8). Files of service/: at most 400 lines.
"""
import re
import sys

import source

LINES_MAX = 70
DEPTH_MAX = 4
PARAMETERS_MAX = 8
FILE_LINES_MAX = 400
# path → reason
LONGER_FILES = {}

# A definition starts at the first column and its head holds no ';' or '=' before the brace.
HEAD = re.compile(r'^(?![#}\s])[^;{}=#]*?\b(\w+)\s*(\([^;{}]*\))[^;{}=()]*\{', re.M)


# A block's brace follows ") ", "else" or "do"; an initializer's follows "=", "," or a compound literal's ")" at once.
BLOCK = re.compile(r'(\)\s+|\belse\s+|\bdo\s+)$')


def end_of_block(code, start):
    """Offset of the brace that closes the one at start, and how deep blocks went in between."""
    open_braces, deepest = [], 0
    for match in re.finditer(r'[{}]', code[start:]):
        at = start + match.start()
        if match.group(0) == '}':
            open_braces.pop()
        else:
            open_braces.append(at == start or bool(BLOCK.search(code[max(start, at - 80):at])))
            deepest = max(deepest, sum(open_braces))
        if not open_braces:
            return at, deepest
    return len(code), deepest


def parameter_count(parameters):
    """Commas at the outermost level, so that a function pointer's own parameters do not count."""
    inner, depth, count = parameters[1:-1], 0, 1
    for char in inner:
        depth += (char == '(') - (char == ')')
        count += char == ',' and depth == 0
    return 0 if inner.strip() in ('', 'void') else count


def functions(code):
    for match in HEAD.finditer(code):
        brace = match.end() - 1
        end, depth = end_of_block(code, brace)
        head_lines = code[match.start():].lstrip()
        yield {'name': match.group(1), 'line': source.line_of(code, match.start(1)),
               'lines': source.line_of(code, end) - source.line_of(code, code.index(head_lines[:1], match.start())) + 1,
               'depth': depth, 'parameters': parameter_count(match.group(2))}


def shape_problems(code):
    for function in functions(code):
        if function['name'] in ('if', 'for', 'while', 'switch'):
            continue
        for what, most in (('lines', LINES_MAX), ('depth', DEPTH_MAX), ('parameters', PARAMETERS_MAX)):
            if function[what] > most:
                yield function['line'], f'{function["name"]}: {what} {function[what]}, at most {most}'


def check(root):
    problems = []
    for path in source.files(root):
        if not path.startswith(('service/', 'tests/')) or not path.endswith(('.c', '.h')):
            continue
        text = source.read(root, path) or ''
        code = re.sub(r'^[ \t]*#(?:\\\n|[^\n])*', lambda match: source.blank(match.group(0)), source.code_only(text),
                      flags=re.M)
        problems += [f'{path}:{line}: {message}' for line, message in shape_problems(code)]
        lines = text.count('\n')
        if path.startswith('service/') and lines > FILE_LINES_MAX and path not in LONGER_FILES:
            problems.append(f'{path}:1: {lines} lines, at most {FILE_LINES_MAX}')
    return problems


if __name__ == '__main__':
    sys.exit(source.report(check(sys.argv[1] if len(sys.argv) > 1 else '.'), 'shape'))
