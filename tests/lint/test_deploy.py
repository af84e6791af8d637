"""What deploy/ and the Dockerfile say about the service is true: metrics exist, settings exist, the image is lean."""
import os
import re
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def text_of(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


def settings():
    rows = re.findall(r'^SETTING_(\w+)\(\w+, "(\w+)"', text_of('service', 'config', 'settings.def'), re.M)
    return {name for _, name in rows} | {name + '_FILE' for kind, name in rows if kind == 'SECRET'}


def metrics():
    """Series name → (label, its values)."""
    table = {'lockstock_http_requests_total': ('status', None)}
    rows = re.findall(r'^METRIC_(\w+)\(\w+, "(\w+)", "([^"]*)", "([^"]*)"', text_of('service', 'metrics', 'metrics.def'), re.M)
    for kind, name, label, values in rows:
        table[name + '_bucket' if kind == 'HISTOGRAM' else name] = (label, values.split('|'))
    return table


class Alerts(unittest.TestCase):
    def setUp(self):
        groups = yaml.safe_load(text_of('deploy', 'prometheus', 'alerts.yml'))['groups']
        self.rules = [rule for group in groups for rule in group['rules']]

    def test_each_rule__has_a_name_a_severity_and_a_summary(self):
        names = [rule['alert'] for rule in self.rules]
        self.assertEqual(len(names), len(set(names)))
        for rule in self.rules:
            self.assertIn(rule['labels']['severity'], ('page', 'ticket'))
            self.assertTrue(rule['annotations']['summary'])

    def test_each_metric_and_label__is_one_of_ours(self):
        known = metrics()
        for rule in self.rules:
            for name, selector in re.findall(r'(lockstock_\w+)(?:\{([^}]*)\})?', rule['expr']):
                self.assertIn(name, known, rule['alert'])
                for label, value in re.findall(r'(\w+)="([^"]*)"', selector):
                    self.assertEqual(label, known[name][0], rule['alert'])
                    self.assertTrue(known[name][1] is None or value in known[name][1], rule['alert'])

    def test_each_promise_metric__has_an_alert(self):
        expressions = ' '.join(rule['expr'] for rule in self.rules)
        for name in ('lockstock_unlock_before_commit_total', 'lockstock_fail_open_total', 'lockstock_stock_lock_lost_total',
                     'lockstock_version_conflicts_total', 'lockstock_commit_unknown_total', 'lockstock_refused_total'):
            self.assertIn(name, expressions)


class Settings(unittest.TestCase):
    def assert_known(self, text):
        names = set(re.findall(r'\b(LOCKSTOCK_[A-Z_]+)\s*[:=]', text))
        self.assertTrue(names)
        self.assertEqual(names - settings(), set())

    def test_compose__known_settings(self):
        self.assert_known(text_of('deploy', 'compose.yaml'))
        compose = yaml.safe_load(text_of('deploy', 'compose.yaml'))
        self.assertIs(compose['services']['lockstock']['read_only'], True)
        self.assertTrue(compose['services']['lockstock']['ports'][0].startswith('127.0.0.1:'))

    def test_systemd__known_settings(self):
        self.assert_known(text_of('deploy', 'systemd', 'lockstock.service'))

    def test_image__known_settings(self):
        self.assert_known(text_of('Dockerfile'))


class Image(unittest.TestCase):
    def setUp(self):
        self.last = text_of('Dockerfile').split('\nFROM ')[-1]

    def test_last_stage__slim_and_by_a_number(self):
        self.assertTrue(self.last.startswith('debian:trixie-slim\n'))
        self.assertRegex(self.last, r'(?m)^USER [1-9]\d*:[1-9]\d*$')

    def test_last_stage__no_build_tools(self):
        for word in ('gcc', 'cmake', 'ninja', '-dev', 'packages.sh'):
            self.assertNotIn(word, self.last)

    def test_health__asked_of_the_service_itself(self):
        self.assertRegex(self.last, r'HEALTHCHECK [^\n]*CMD \["lockstock", "healthcheck"\]')

    def test_context__only_what_the_build_copies(self):
        let_in = {line[1:] for line in text_of('.dockerignore').splitlines() if line.startswith('!')}
        copied = set()
        for line in re.findall(r'(?m)^COPY (?!--from)(.*)$', text_of('Dockerfile')):
            copied |= set(line.split()[:-1])
        self.assertEqual(let_in, copied)


if __name__ == '__main__':
    unittest.main()
