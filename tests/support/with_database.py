"""python3 -m tests.support.with_database [--tls] COMMAND… : the command with a fresh database server behind it, whose one
empty database LOCKSTOCK_TEST_MYSQL_URL names; the exit status is the command's.

--tls: the server offers TLS on 127.0.0.1 and 127.0.0.2, with a certificate for the first that LOCKSTOCK_TEST_TLS_CA
confirms and LOCKSTOCK_TEST_TLS_OTHER_CA does not."""

import os
import shutil
import subprocess
import sys
import tempfile

from .stack import MySql


def certificate(folder, name):
    """(certificate, key) of an authority that is its own only customer."""
    files = tuple(os.path.join(folder, f"{name}-{part}.pem") for part in ("cert", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    return files


def main(argv):
    tls = argv[:1] == ["--tls"]
    command = argv[1:] if tls else argv
    folder = tempfile.mkdtemp(prefix="lockstock-test-")
    own = certificate(folder, "server") if tls else None
    env = dict(os.environ)
    if tls:
        env |= {"LOCKSTOCK_TEST_TLS_CA": own[0], "LOCKSTOCK_TEST_TLS_OTHER_CA": certificate(folder, "other")[0]}
    server = MySql(folder, own)
    try:
        server.initialise()
        env["LOCKSTOCK_TEST_MYSQL_URL"] = server.start().new_database().url()
        return subprocess.run(command, env=env, check=False).returncode
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
