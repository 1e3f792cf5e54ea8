// adapter.js: a template: put a lock library in JavaScript behind picklock (docs/ADAPTERS.md).
//
//     picklock run --adapter 'node adapters/templates/adapter.js'
//
// Replace class Library by calls of yours, and say in DECLARES what it does.
'use strict';

const crypto = require('crypto');
const net = require('net');
const { performance } = require('perf_hooks');
const readline = require('readline');

const DECLARES = {
  library: 'template 1',
  features: ['validity', 'extend', 'clock'], // all that it does: see docs/ADAPTERS.md
  owner: 'object',
  nodes: 1, // or 'N', for a majority of several
};
const DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
const EXPIRE = DELETE.replace("'del',KEYS[1]", "'pexpire',KEYS[1],ARGV[2]");

/** SET NX PX on one node, by hand: your library goes here. */
class Library {
  async connect(nodes) {
    this.url = new URL(nodes[0]);
    this.waiting = []; // replies come in the order of the requests
    const node = net.connect(Number(this.url.port), this.url.hostname);
    const end = () => {
      this.node = null; // the next request connects again
      this.waiting.splice(0).forEach(({ reject }) => reject(new Error('cut off')));
    };
    node.on('error', end).on('close', end);
    readline.createInterface({ input: node }).on('line', (line) => this.heard(line)).on('error', end);
    await new Promise((resolve, reject) => node.once('connect', resolve).once('close', () => reject(new Error('refused'))));
    this.node = node;
  }
  heard(line) {
    const asked = this.waiting.shift();
    if (asked && line.startsWith('-')) asked.reject(new Error(line)); // nobody knows what became of it
    else if (asked) asked.resolve(line);
  }
  async ask(...words) {
    if (!this.node) await this.connect([this.url.href]);
    const bulk = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
    this.node.write(`*${words.length}\r\n${bulk.join('')}`);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }
  async acquire(resource, ttl) {
    const value = crypto.randomBytes(20).toString('hex');
    const start = performance.now();
    if ((await this.ask('SET', resource, value, 'NX', 'PX', ttl)) !== '+OK') return null;
    const validity = ttl * 0.99 - 2 - (performance.now() - start);
    if (validity > 0) return { value, validity };
    await this.release(resource, value); // too late: nobody could use it
    return null;
  }
  async extend(resource, value, ttl) {
    const start = performance.now();
    if ((await this.ask('EVAL', EXPIRE, 1, resource, value, ttl)) !== ':1') return null;
    const validity = ttl * 0.99 - 2 - (performance.now() - start);
    return validity > 0 ? validity : null;
  }
  async release(resource, value) {
    return (await this.ask('EVAL', DELETE, 1, resource, value)) === ':1';
  }
}

const library = new Library();
const held = new Map();

/** When it was computed, on our own monotonic clock: so that it counts from there. */
const promise = (validity) => ({ type: 'ok', validity_ms: validity, at_ms: performance.now() });

const operations = {
  async init({ nodes }) {
    await library.connect(nodes);
    return { type: 'ok', ...DECLARES };
  },
  async clock() {
    return { type: 'ok', mono_ms: performance.now(), wall_ms: Date.now() };
  },
  async acquire({ resource, ttl_ms }) {
    const grant = await library.acquire(resource, ttl_ms);
    if (grant === null) return { type: 'fail', error: 'held by another' }; // surely not held
    held.set(resource, grant.value);
    return { value: grant.value, ...promise(grant.validity) };
  },
  async extend({ resource, ttl_ms }) {
    const validity = await library.extend(resource, held.get(resource), ttl_ms);
    return validity === null ? { type: 'fail', error: 'lost' } : promise(validity);
  },
  async release({ resource }) {
    return { type: (await library.release(resource, held.get(resource))) ? 'ok' : 'fail' };
  },
  async shutdown() {
    process.exit(0);
  },
};

const say = (id, answer) => process.stdout.write(JSON.stringify({ id, ...answer }) + '\n');
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const asked = JSON.parse(line);
  operations[asked.op](asked).then(
    (answer) => say(asked.id, answer),
    (error) => say(asked.id, { type: 'info', error: error.message }), // nobody knows whether it happened
  );
}).on('close', () => process.exit(0));
