'use strict';
/* A Node service that locks with node-redisson, told what to do by the tests. The lines are those of the Java peer
   (java/src/main/java/lockstock/interop/Peer.java); the one kind is "lock". An actor is a client of its own: in this
   library two waiters of one client on one name take each other's subscription away. */
const { Redisson } = require('node-redisson');
const readline = require('node:readline');

const [url, watchdogMs] = process.argv.slice(2);
const redis = new URL(url);
const actors = new Map();

/* The client of an actor, its locks by name (the owner is the lock object), and the end of its last command. */
function actor(name) {
  if (!actors.has(name)) {
    const options = { host: redis.hostname, port: Number(redis.port) };
    const client = new Redisson({ redis: { options }, lockWatchdogTimeout: BigInt(watchdogMs) });
    actors.set(name, { client, locks: new Map(), last: Promise.resolve() });
  }
  return actors.get(name);
}

function lockOf(self, kind, name) {
  if (kind !== 'lock') throw new Error(`no kind ${kind}`);
  if (!self.locks.has(name)) self.locks.set(name, self.client.getLock(name));
  return self.locks.get(name);
}

/* Milliseconds, or true: the watchdog. */
const lease = (word) => (Number(word) > 0 ? BigInt(word) : true);

async function critical(lock, client, counter, turns) {
  const spans = [];
  for (let i = 0; i < turns; i++) {
    await lock.lock(10000n);
    const begin = process.hrtime.bigint();
    await client.redis.set(counter, Number((await client.redis.get(counter)) ?? 0) + 1);
    spans.push(`${begin}-${process.hrtime.bigint()}`);
    await lock.unlock();
  }
  return spans.join(',');
}

const commands = {
  lock: (lock, [leaseMs]) => lock.lock(lease(leaseMs)),
  tryLock: (lock, [waitMs, leaseMs]) => lock.tryLock(BigInt(waitMs), lease(leaseMs)),
  unlock: (lock) => lock.unlock(),
  isLocked: (lock) => lock.isLocked(),
  forceUnlock: (lock) => lock.forceUnlock(),
  critical: (lock, [counter, turns], self) => critical(lock, self.client, counter, Number(turns)),
};

async function run(self, id, command, words) {
  const begin = process.hrtime.bigint();
  let outcome = 'ok';
  let value;
  try {
    const [kind, name, ...rest] = words.map((word) => decodeURIComponent(word));
    value = (await commands[command](lockOf(self, kind, name), rest, self)) ?? '';
  } catch (fault) {
    outcome = 'error';
    value = `${fault.constructor.name}: ${fault.message}`;
  }
  const text = encodeURIComponent(String(value));
  process.stdout.write(`${id} ${outcome} ${text} ${begin} ${process.hrtime.bigint()}\n`);
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const [id, name, command, ...words] = line.split(' ');
  const self = actor(name);
  self.last = self.last.then(() => run(self, id, command, words));
});
lines.on('close', () => process.exit(0)); // a peer that ends lets go of nothing
process.stdout.write(`ready ${require('node-redisson/package.json').version}\n`);
