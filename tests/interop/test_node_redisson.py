"""node-redisson's lock and PUT /v1/locks on one key. The library has RLock's kind alone and no fairness among its own."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from exclusive import Exclusive  # pylint: disable=wrong-import-position
from interop import InteropCase  # pylint: disable=wrong-import-position
from peers import Peer  # pylint: disable=wrong-import-position
from support.case import main  # pylint: disable=wrong-import-position
from support.wait import holds_for  # pylint: disable=wrong-import-position


class NodeRLock(Exclusive, InteropCase):
    PEER = "node"
    TURNS = 10

    def test_reentry__when_locked_twice__then_free_after_the_second_unlock(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(20000)
        theirs.lock(20000)
        theirs.unlock()
        one = self.parked(name)
        holds_for(lambda: not one.answered(), 0.3, "half unlocked is locked")
        theirs.unlock()
        self.assertEqual(one.reply(5).status, 201)
        self.let_go(one.reply().json)


class NodeAndJava(InteropCase):
    """Three sides on one key."""

    PEER = "node"

    def test_three__when_each_holds_in_turn__then_the_others_are_out(self):
        name = self.name()
        node = self.remote(name)
        java = self.remote(name, peer=Peer.shared(self.stack, "redisson-4", self.WATCHDOG_MS))
        for holder, outside in ((node, java), (java, node)):
            holder.lock(20000)
            self.assert_refused(self.ours(name))
            self.assertFalse(outside.try_lock())
            holder.unlock()
        grant = self.hold(name)
        self.assertFalse(node.try_lock() or java.try_lock())
        self.let_go(grant)


if __name__ == "__main__":
    main()
