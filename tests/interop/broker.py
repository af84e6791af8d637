"""One real Kafka broker (KRaft), on loopback, in a folder of its own."""

import os
import subprocess
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from peers import BUILT  # pylint: disable=wrong-import-position
from support.process import Process  # pylint: disable=wrong-import-position
from support.wait import SLOW, accepts, eventually, free_port  # pylint: disable=wrong-import-position

HEAP = "256m"
# Settings that a broker of one node needs.
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
num.partitions=3
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=3
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
"""


class Broker:
    def __init__(self, folder):
        self.folder = os.path.join(folder, "kafka-" + uuid.uuid4().hex[:8])
        self.port, controller = free_port(), free_port()
        self.brokers = f"127.0.0.1:{self.port}"
        os.makedirs(self.folder)
        properties = os.path.join(self.folder, "server.properties")
        with open(properties, "w", encoding="utf-8") as file:
            file.write(PROPERTIES.format(port=self.port, controller=controller, folder=self.folder))
        self._java = ["java", f"-Xmx{HEAP}", "-cp", os.path.join(BUILT, "kafka", "*")]
        subprocess.run(self._java + ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", properties],
                       check=True, capture_output=True, timeout=60 * SLOW)
        self._process = Process(self._java + ["kafka.Kafka", properties], os.path.join(self.folder, "broker.log"))

    def start(self):
        self._process.start()
        eventually(lambda: accepts(self.port), 60, "the broker listens")
        return self

    def stop(self):
        self._process.stop(60 * SLOW)

    def kill(self):
        self._process.kill()
