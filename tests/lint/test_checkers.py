"""Each checker is shown a tree with a planted violation and must see it, and a clean tree and must be silent."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_banned
import check_includes
import check_links
import check_shape

HERE = os.path.dirname(os.path.abspath(__file__))
CLEAN = {
    'service/base/text.h': '#pragma once\n#include <stddef.h>\n',
    'service/store/db.c': '#include "base/text.h"\n#include <mysql.h>\nint db_open(void) { return 0; }\n',
    'service/main.c': '#include "base/text.h"\n',
}


class CheckerTest(unittest.TestCase):
    def problems(self, checker, planted):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **planted}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, 'w') as file:
                    file.write(text)
            return checker.check(root)

    def assert_one(self, checker, path, text, word):
        problems = self.problems(checker, {path: text})
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(path + ':'), problems)
        self.assertIn(word, problems[0])


class Includes(CheckerTest):
    def test_clean_tree__no_problem(self):
        self.assertEqual(self.problems(check_includes, {}), [])

    def test_upward_include__found(self):
        self.assert_one(check_includes, 'service/base/a.c', '#include "store/db.h"\n', 'not a file')
        self.assertTrue(self.problems(check_includes, {'service/store/db.h': '', 'service/base/a.c':
                                                       '#include "store/db.h"\n'})[0].endswith('is not below it'))

    def test_sibling_include__found(self):
        planted = {'service/redis/redis.h': '', 'service/store/x.c': '#include "redis/redis.h"\n'}
        self.assertIn('not below', self.problems(check_includes, planted)[0])

    def test_foreign_header_away_from_home__found(self):
        for header in ('uv.h', 'jansson.h', 'openssl/sha.h', 'mysql.h', 'mysql/mysql.h', 'mariadb/mysql.h',
                       'hiredis/async.h', 'hiredis.h', 'microhttpd.h', 'curl/curl.h'):
            with self.subTest(header):
                self.assert_one(check_includes, 'service/domain/a.c', f'\n#include <{header}>\n', 'belongs to')

    def test_unknown_foreign_header__found(self):
        self.assert_one(check_includes, 'service/domain/a.c', '#include <glib.h>\n', 'has no home')

    def test_unknown_folder__found(self):
        self.assert_one(check_includes, 'service/util/a.c', '\n', 'has no level')

    def test_relative_name__found(self):
        self.assert_one(check_includes, 'service/base/a.c', '#include "text.h"\n', 'not a file')

    def test_header_cycle__found(self):
        planted = {'service/base/a.h': '#include "base/b.h"\n', 'service/base/b.h': '#include "base/a.h"\n'}
        self.assertIn('cycle', self.problems(check_includes, planted)[0])

    def test_include_in_a_comment__ignored(self):
        self.assertEqual(self.problems(check_includes, {'service/base/a.c': '/* #include <uv.h> */\n// <uv.h>\n'}), [])


class Banned(CheckerTest):
    def test_clean_tree__no_problem(self):
        self.assertEqual(self.problems(check_banned, {}), [])

    def test_each_banned_call__found(self):
        for name in list(check_banned.BANNED_CALLS) + list(check_banned.HEAP_CALLS):
            with self.subTest(name):
                self.assert_one(check_banned, 'service/domain/a.c', f'void f(void) {{\n    {name}(0);\n}}\n', name)

    def test_goto__found(self):
        self.assert_one(check_banned, 'service/domain/a.c', 'void f(void) { goto out; }\n', 'goto')

    def test_name_in_comment_string_member_or_longer_name__ignored(self):
        text = '/* strcpy(a) */ void f(void) { x.sleep(1); my_rand(2); log("atoi(3)"); }\n'
        self.assertEqual(self.problems(check_banned, {'service/domain/a.c': text}), [])

    def test_open_work__found(self):
        for word in ('TO' + 'DO', 'FIX' + 'ME'):
            self.assert_one(check_banned, 'README.md', f'{word}: later\n', 'issue')

    def test_trailing_space_tab_and_missing_newline__found(self):
        self.assert_one(check_banned, 'README.md', 'a \n', 'trailing')
        self.assert_one(check_banned, 'k8s/a.yaml', 'a:\n\tb\n', 'tab')
        self.assert_one(check_banned, 'README.md', 'a', 'newline')

    def test_path_of_a_machine__found(self):
        self.assert_one(check_banned, 'README.md', 'see /ho' + 'me/me/x\n', 'machine')


class Shape(CheckerTest):
    def test_clean_tree__no_problem(self):
        self.assertEqual(self.problems(check_shape, {}), [])

    def test_long_function__found(self):
        body = '    a();\n' * 70
        self.assert_one(check_shape, 'service/base/a.c', f'static int\nf(void) {{\n{body}}}\n', 'lines')

    def test_deep_function__found(self):
        text = 'void f(void) {\nif (a) {\nwhile (b) {\nif (c) {\nif (d) {\n}\n}\n}\n}\n}\n'
        self.assert_one(check_shape, 'service/base/a.c', text, 'depth')

    def test_deep_table__not_counted(self):
        text = 'void f(void) {\n    struct a t[] = {{1, {2, {3, {4}}}}};\n    g((struct b){1, {2}});\n}\n'
        self.assertEqual(self.problems(check_shape, {'service/base/a.c': text}), [])

    def test_many_parameters__found(self):
        self.assert_one(check_shape, 'service/base/a.c', f'int f({", ".join("int a" for _ in range(9))}) {{\n}}\n',
                        'parameters')

    def test_parameters_of_a_function_pointer__not_counted(self):
        text = 'int f(int a, void (*g)(int, int, int, int, int, int, int, int), int b) {\n}\n'
        self.assertEqual(self.problems(check_shape, {'service/base/a.c': text}), [])

    def test_long_file__found(self):
        self.assert_one(check_shape, 'service/base/a.h', '\n' * 401, '401')


class Links(CheckerTest):
    def found(self, text):
        return self.problems(check_links, {'A.md': text, 'docs/B.md': '# One thing\n', 'Makefile': 'run:\n',
                                           'deploy/prometheus/alerts.yml': 'alert: LockstockDown\n',
                                           'deploy/tour.sh': 'at=x\ncurl $at\n'})

    def assert_found(self, text, word):
        problems = self.found(text)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith('A.md:2: '), problems)
        self.assertIn(word, problems[0])

    def test_all_that_exists__no_problem(self):
        self.assertEqual(self.found('# A\n[b](docs/B.md#one-thing) [a](#a) [w](https://example.com/x) `service/store/`\n'
                                    '`service/store/db.c` `db_open`, `db_open()` and `db_open`; `service/*/text.h`;\n'
                                    '`make run`, LockstockDown, `lockstock/not-ours`\n```\nmake run\n```\n'), [])

    def test_dead_link__found(self):
        self.assert_found('\n[b](docs/C.md)\n', 'docs/C.md')

    def test_dead_anchor__found(self):
        self.assert_found('\n[b](docs/B.md#two)\n', '#two')

    def test_path_of_nothing__found(self):
        for text in ('\n`service/store/gone.c`\n', '\nrun `x service/gone/`\n', '\n`service/*/gone.h`\n'):
            with self.subTest(text):
                self.assert_found(text, 'does not exist')

    def test_path_in_a_block__found(self):
        problems = self.found('\n```\nbash service/gone.sh\n```\n')
        self.assertEqual(len(problems), 1, problems)

    def test_name_the_file_lacks__found(self):
        self.assert_found('\n`service/store/db.c` `db_open`, `shut`\n', 'has no shut')

    def test_name_no_source_has__found(self):
        self.assert_found('\nsee `db_shut`\n', 'no source')

    def test_other_tour__found(self):
        self.assertEqual(self.found('```\nat=x\ncurl $at\n```\n'), [])
        self.assert_found('\n```\nat=x\ncurl $at/y\n```\n', 'tour')

    def test_unknown_alert_and_target__found(self):
        self.assert_found('\nLockstockUp\n', 'no alert')
        self.assert_found('\n`make tea`\n', 'no target')


class CommandLine(unittest.TestCase):
    def test_problem__exit_status_one(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, 'service/domain'))
            with open(os.path.join(root, 'service/domain/a.c'), 'w') as file:
                file.write('#include <uv.h>\n')
            for script, status in (('check_includes.py', 1), ('check_banned.py', 0), ('check_shape.py', 0),
                                   ('check_links.py', 0)):
                done = subprocess.run([sys.executable, os.path.join(HERE, script), root], capture_output=True)
                self.assertEqual(done.returncode, status, done.stdout)


if __name__ == '__main__':
    unittest.main()
