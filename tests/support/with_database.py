"""python3 -m tests.support.with_database [--tls] COMMAND… : the command with a fresh database server behind it, whose one
empty database LOCKSTOCK_TEST_MYSQL_URL names; the exit status is the command's. --tls: the server offers TLS, with the
certificate it made itself."""

import os
import shutil
import subprocess
import sys
import tempfile

from .stack import MySql


def main(argv):
    tls = argv[:1] == ["--tls"]
    command = argv[1:] if tls else argv
    folder = tempfile.mkdtemp(prefix="lockstock-test-")
    server = MySql(folder, tls)
    try:
        server.initialise()
        database = server.start().new_database()
        return subprocess.run(command, env=os.environ | {"LOCKSTOCK_TEST_MYSQL_URL": database.url()}, check=False).returncode
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
