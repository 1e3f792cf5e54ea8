// adapter.js: npm redlock behind picklock's adapter protocol (docs/ADAPTERS.md).
//
//     node adapters/node-redlock/adapter.js [4.2.0 | 5.0.0-beta.2]
//
// One process is one client with an ioredis connection of its own to every node.
'use strict';

const { performance } = require('perf_hooks');
const readline = require('readline');
const Redis = require('ioredis');

const version = process.argv[2] || '4.2.0';
const LIBRARIES = {
  '4.2.0': () => {
    const Redlock = require('redlock-4');
    return {
      make: (clients, settings) => new Redlock(clients, settings),
      acquire: (redlock, resource, ttl) => redlock.lock(resource, ttl),
      extend: (lock, ttl) => lock.extend(ttl),
      release: (lock) => lock.unlock(),
    };
  },
  '5.0.0-beta.2': () => {
    const Redlock = require('redlock-5').default;
    return {
      make: (clients, settings) => new Redlock(clients, settings),
      acquire: (redlock, resource, ttl) => redlock.acquire([resource], ttl),
      extend: (lock, ttl) => lock.extend(ttl),
      release: (lock) => lock.release(),
    };
  },
};
if (!LIBRARIES[version]) {
  console.error(`unknown version ${version}: expected ${Object.keys(LIBRARIES).join(' or ')}`);
  process.exit(2);
}
const library = LIBRARIES[version]();

const DECLARES = { features: ['validity', 'extend', 'clock'], owner: 'object', nodes: 'N' };

let redlock = null;
let clients = [];
const held = new Map(); // resource -> the library's lock object

function answer(message) {
  process.stdout.write(JSON.stringify(message) + '\n');
}

function connect(url) {
  const { hostname, port } = new URL(url);
  const client = new Redis({ host: hostname, port: Number(port) });
  client.on('error', () => {}); // ioredis connects again by itself
  return client;
}

function ready(client) {
  return new Promise((resolve) => {
    client.once('ready', resolve);
    setTimeout(resolve, 5000).unref(); // a node that is away must not keep the client away
  });
}

function granted(id, lock) {
  // Both versions keep the end of the validity as a date on this process's wall clock.
  const validity_ms = lock.expiration - Date.now();
  answer({ id, type: 'ok', value: lock.value, validity_ms, at_ms: performance.now() });
}

const operations = {
  async init({ id, nodes, options }) {
    clients = nodes.map(connect);
    redlock = library.make(clients, {
      driftFactor: options.drift_factor === undefined ? 0.01 : options.drift_factor,
      retryCount: options.retry_count,
      retryDelay: options.retry_delay_ms,
      retryJitter: options.retry_jitter_ms,
    });
    redlock.on('error', () => {}); // version 5 reports every refusal here as well
    redlock.on('clientError', () => {});
    await Promise.all(clients.map(ready));
    answer({ id, type: 'ok', library: `redlock ${version}`, ...DECLARES });
  },
  async acquire({ id, resource, ttl_ms }) {
    const lock = await library.acquire(redlock, resource, ttl_ms);
    held.set(resource, lock);
    granted(id, lock);
  },
  async extend({ id, resource, ttl_ms }) {
    const lock = await library.extend(held.get(resource), ttl_ms);
    held.set(resource, lock);
    granted(id, lock);
  },
  async release({ id, resource }) {
    const lock = held.get(resource);
    held.delete(resource);
    await library.release(lock);
    answer({ id, type: 'ok' });
  },
  async clock({ id }) {
    answer({ id, type: 'ok', mono_ms: performance.now(), wall_ms: Date.now() });
  },
  async shutdown({ id }) {
    clients.forEach((client) => client.disconnect());
    answer({ id, type: 'ok' });
    process.exit(0);
  },
};

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const request = JSON.parse(line);
  const operation = operations[request.op];
  if (!operation) {
    answer({ id: request.id, type: 'fail', error: `unknown op ${request.op}` });
    return;
  }
  // Both versions reject only when they gave up: the lock is not held, or was not released.
  operation(request).catch((error) => {
    answer({ id: request.id, type: 'fail', error: String(error && error.message) });
  });
});
lines.on('close', () => process.exit(0));
