#!/usr/bin/python3
"""check_links.py [ROOT]: what the documents (*.md) point at exists.

Links: the file, and the heading when a link names one. Paths in backticks or code blocks: a tracked file or folder, *
allowed. Names in backticks: `service/x.c` `name`, `name` means that the file has each name; a name with an underscore
that follows no path must stand in some source. Alerts and make targets: the ones we have. A block that shows the tour
shows deploy/tour.sh as it is.
"""
import fnmatch
import os
import re
import sys

import source

FENCE = re.compile(r'^```.*?^```', re.M | re.S)
LINK = re.compile(r'\[[^\]\n]*\]\(([^)\s]+)\)')
SPAN = re.compile(r'`([^`\n]+)`')
NAME = re.compile(r'[A-Za-z_]\w*\Z')
ALERT = re.compile(r'\bLockstock[A-Z]\w+')
TOUR = re.compile(r'^```\n(at=.*?)^```', re.M | re.S)
TARGET = re.compile(r'^(?:[A-Z]+=\S+ )*make ([a-z]+)\b', re.M)
BETWEEN = re.compile(r'[\s,]*\Z')  # what may stand between a path and the names it has
PLACEHOLDERS = {'function__when__then'}


def slug(heading):
    """The anchor of a heading, as the usual renderers make it."""
    return re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = source.files(root)
        self.folders = {path.split('/')[0] for path in self.files if '/' in path}
        self.words = {}
        self.all_words = set()
        for path in self.files:
            text = None if path.endswith('.md') else source.read(root, path)
            self.words[path] = set(re.findall(r'\w+', text or ''))
            self.all_words |= self.words[path]

    def has(self, path):
        if path.endswith('/') or '.' not in os.path.basename(path):
            if any(name.startswith(path.rstrip('/') + '/') for name in self.files):
                return True
        return any(fnmatch.fnmatchcase(name, path) for name in self.files)

    def is_path(self, word):
        return '/' in word and word.split('/')[0] in self.folders

    def headings(self, path):
        text = FENCE.sub('', source.read(self.root, path) or '')
        return {slug(heading) for heading in re.findall(r'^#+ (.*)$', text, re.M)}


def link_problem(tree, document, target):
    if re.match(r'[a-z]+:', target):
        return None
    name, _, anchor = target.partition('#')
    path = os.path.normpath(os.path.join(os.path.dirname(document), name)) if name else document
    if not tree.has(path):
        return f'the link {target} leads nowhere'
    if anchor and path.endswith('.md') and anchor not in tree.headings(path):
        return f'{path} has no heading #{anchor}'
    return None


def word_problems(tree, text):
    """Paths among the words of a span or block."""
    for word in text.split():
        word = word.strip('.,:;()\'"')
        if tree.is_path(word) and '<' not in word and not tree.has(word):
            yield f'{word} does not exist'


def name_problem(tree, owner, span):
    name = re.sub(r'\(\)$|\{[^}]*\}$', '', span)
    if not NAME.match(name):
        return None
    if owner and owner in tree.words:
        return None if name in tree.words[owner] else f'{owner} has no {name}'
    if '_' in name and name not in tree.all_words | PLACEHOLDERS:
        return f'{name} stands in no source'
    return None


def span_problems(tree, text):
    owner, end = None, 0
    for match in SPAN.finditer(text):
        span = match.group(1)
        for problem in word_problems(tree, span):
            yield match.start(), problem
        if not BETWEEN.match(text[end:match.start()]):
            owner = None
        if tree.is_path(span):
            owner = span
        else:
            problem = name_problem(tree, owner, span)
            if problem:
                yield match.start(), problem
        end = match.end()


def listed_problems(tree, text):
    """Alerts, and make targets at the start of a line or span."""
    alerts = tree.words.get('deploy/prometheus/alerts.yml', set())
    for match in ALERT.finditer(text):
        if match.group() not in alerts:
            yield match.start(), f'no alert {match.group()}'
    targets = tree.words.get('Makefile', set())
    for match in TARGET.finditer(re.sub('[`]', '\n', text)):
        if match.group(1) not in targets:
            yield match.start(), f'no target {match.group(1)} in the Makefile'


def tour_problems(tree, text):
    for match in TOUR.finditer(text):
        if match.group(1) != source.read(tree.root, 'deploy/tour.sh'):
            yield match.start(), 'the tour differs from deploy/tour.sh'


def document_problems(tree, path, text):
    prose = FENCE.sub(lambda match: source.blank(match.group()), text)
    for match in LINK.finditer(prose):
        problem = link_problem(tree, path, match.group(1))
        if problem:
            yield match.start(), problem
    for match in FENCE.finditer(text):
        for problem in word_problems(tree, match.group()):
            yield match.start(), problem
    yield from span_problems(tree, prose)
    yield from listed_problems(tree, text)
    yield from tour_problems(tree, text)


def check(root):
    tree = Tree(root)
    problems = []
    for path in tree.files:
        text = source.read(root, path) if path.endswith('.md') else None
        for offset, message in document_problems(tree, path, text or ''):
            problems.append(f'{path}:{source.line_of(text, offset)}: {message}')
    return problems


if __name__ == '__main__':
    sys.exit(source.report(check(sys.argv[1] if len(sys.argv) > 1 else '.'), 'links'))
