"""Shared by the checkers: the files of a tree and C text without comments and literals (line numbers kept)."""
import os
import re
import subprocess

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
SKIPPED_FOLDERS = {'.git', '.dev', '__pycache__'}


def files(root):
    """Paths relative to root: what git tracks or would track, or every file when root is no repository."""
    done = subprocess.run(['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                          capture_output=True)
    top = subprocess.run(['git', '-C', root, 'rev-parse', '--show-prefix'], capture_output=True, text=True)
    if done.returncode == 0 and top.stdout.strip() == '':
        names = [name for name in done.stdout.decode().split('\0') if name]
        return sorted(name for name in set(names) if os.path.isfile(os.path.join(root, name)))
    return sorted(walked(root))


def walked(root):
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS and not name.startswith('build')]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    """The text of a file, or None when it is not UTF-8 text."""
    with open(os.path.join(root, path), 'rb') as file:
        data = file.read()
    try:
        return None if b'\0' in data else data.decode()
    except UnicodeDecodeError:
        return None


def blank(text):
    return re.sub(r'[^\n]', ' ', text)


def code_only(text):
    """Comments and the insides of literals become spaces."""
    def replace(match):
        token = match.group(0)
        if token[0] == '/':
            return blank(token)
        return token[0] + blank(token[1:-1]) + token[-1]
    return TOKEN.sub(replace, text)


def without_comments(text):
    return TOKEN.sub(lambda match: blank(match.group(0)) if match.group(0)[0] == '/' else match.group(0), text)


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def report(problems, what):
    """Prints problems, one a line, and returns the exit status."""
    for problem in problems:
        print(problem)
    print(f'{what}: {len(problems)} problem{"s" if len(problems) != 1 else ""}' if problems else f'{what}: clean')
    return 1 if problems else 0
