// adapter.js: npm @sesamecare-oss/redlock behind picklock's adapter protocol (docs/ADAPTERS.md).
//
//     node adapters/sesamecare-redlock/adapter.js
'use strict';

const readline = require('readline');
const Redis = require('ioredis');
const { Redlock } = require('@sesamecare-oss/redlock');

let redlock = null;
const held = new Map(); // resource -> the library's lock object

function say(message) {
  process.stdout.write(JSON.stringify(message) + '\n');
}

function connect(url) {
  const { hostname, port } = new URL(url);
  const client = new Redis({ host: hostname, port: Number(port) });
  client.on('error', () => {}); // ioredis connects again by itself
  return new Promise((resolve) => {
    client.once('ready', () => resolve(client));
    setTimeout(() => resolve(client), 5000).unref(); // a node that is away must not keep us away
  });
}

function promise(resource, lock) {
  // The end of the validity is a date on this process's wall clock.
  held.set(resource, lock);
  return { value: lock.value, validity_ms: lock.expiration - Date.now(), at_ms: performance.now() };
}

const operations = {
  async init({ nodes, options }) {
    redlock = new Redlock(await Promise.all(nodes.map(connect)), {
      driftFactor: options.drift_factor === undefined ? 0.01 : options.drift_factor,
      retryCount: options.retry_count,
      retryDelay: options.retry_delay_ms,
      retryJitter: options.retry_jitter_ms,
    });
    redlock.on('error', () => {}); // every refusal is reported here as well
    const features = ['validity', 'extend', 'several', 'clock'];
    return { library: '@sesamecare-oss/redlock 1.4.0', features, owner: 'object', nodes: 'N' };
  },
  async acquire({ resource, ttl_ms }) {
    return promise(resource, await redlock.acquire([resource], ttl_ms));
  },
  async extend({ resource, ttl_ms }) {
    return promise(resource, await held.get(resource).extend(ttl_ms));
  },
  async release({ resource }) {
    const lock = held.get(resource);
    held.delete(resource);
    await lock.release();
    return {};
  },
  async clock() {
    return { mono_ms: performance.now(), wall_ms: Date.now() };
  },
};

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const request = JSON.parse(line);
  if (request.op === 'shutdown') {
    process.exit(0);
  }
  // The library rejects only when it gave up: the lock is not held, or was not released.
  operations[request.op](request)
    .then((answer) => say({ id: request.id, type: 'ok', ...answer }))
    .catch((error) => say({ id: request.id, type: 'fail', error: String(error && error.message) }));
});
lines.on('close', () => process.exit(0));
