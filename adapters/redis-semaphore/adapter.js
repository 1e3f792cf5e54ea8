// adapter.js: npm redis-semaphore behind picklock's adapter protocol (docs/ADAPTERS.md).
//
//     node adapters/redis-semaphore/adapter.js
//
// Mutex where there is one node, RedlockMutex where there are several. Both renew by themselves.
'use strict';

const readline = require('readline');
const Redis = require('ioredis');
const { Mutex, RedlockMutex } = require('redis-semaphore');

let clients = [];
let asked = {};
const held = new Map(); // resource -> the library's mutex
const acquiring = new Map(); // id of an open acquire -> what gives it up

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

const operations = {
  async init({ nodes, options }) {
    asked = options;
    clients = await Promise.all(nodes.map(connect));
    return {
      library: 'redis-semaphore 5.8.0',
      features: ['renew', 'notice', 'wait', 'deadline', 'cancel', 'several', 'clock'],
      renew_every_ms: Math.round(options.ttl_ms * 0.8), // the library's own default
      owner: 'object',
      nodes: nodes.length > 1 ? 'N' : 1,
    };
  },
  async acquire({ id, resource, ttl_ms, deadline_ms }) {
    const options = {
      lockTimeout: ttl_ms,
      acquireTimeout: deadline_ms || 1e6,
      acquireAttemptsLimit: deadline_ms ? Infinity : asked.retry_count + 1,
      retryInterval: asked.retry_delay_ms + asked.retry_jitter_ms / 2,
      onLockLost: () => say({ type: 'lost', resource }),
    };
    const many = clients.length > 1;
    const mutex = many ? new RedlockMutex(clients, resource, options) : new Mutex(clients[0], resource, options);
    const giveUp = new AbortController();
    acquiring.set(id, giveUp);
    try {
      await mutex.acquire(giveUp.signal);
    } finally {
      acquiring.delete(id);
    }
    held.set(resource, mutex);
    return { value: mutex.identifier };
  },
  async release({ resource }) {
    const mutex = held.get(resource);
    if (!mutex) {
      return { type: 'fail', error: 'not held' };
    }
    held.delete(resource);
    await mutex.release();
    return {};
  },
  async extend() {
    return { type: 'fail', error: 'the library renews by itself' };
  },
  async cancel({ of }) {
    const open = acquiring.get(of);
    if (open) {
      open.abort();
    }
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
  operations[request.op](request)
    .then((answer) => say({ id: request.id, type: 'ok', ...answer }))
    .catch((error) => say({ id: request.id, type: request.op === 'acquire' ? 'fail' : 'info', error: String(error.message) }));
});
lines.on('close', () => process.exit(0));
