/* events.js: reads the rows that pack.c wrote, and gathers them into layers, which are drawn.
 *
 * A layer holds bars or points of one lane, sorted by their start, with a prefix sum of lengths, so
 * that the share of any stretch of time is two binary searches. What a bar is, and how it ended,
 * was told by the ledger that judged (marks.c); nothing of that is decided here. */
'use strict';

const startedMs = performance.now();
const byId = id => document.getElementById(id);
const META = JSON.parse(byId('pl-meta').textContent);
const HEADER = META.header;

/* buffer_pairs: two of 91 characters are thirteen bits, the lowest first. */
const DIGITS = (() => {
  const digits = new Uint8Array(127);
  let count = 0;
  for (let code = 33; code < 127; code++) if (!'"&<'.includes(String.fromCharCode(code))) digits[code] = count++;
  return digits;
})();
const bytesOf = id => {
  const text = byId(id).textContent, bytes = new Uint8Array(text.length / 2 * 13 >> 3);
  let bits = 0, held = 0, at = 0;
  for (let i = 0; i < text.length; i += 2) {
    bits |= (DIGITS[text.charCodeAt(i)] * 91 + DIGITS[text.charCodeAt(i + 1)]) << held;
    for (held += 13; held >= 8; held -= 8) {
      bytes[at++] = bits & 255;
      bits >>>= 8;
    }
  }
  return bytes;
};

const ROWS = bytesOf('pl-events');
const VALUES = bytesOf('pl-values');
const N = META.count;
const NEVER = Infinity;

/* pack.h: the fields of a row, by their bits */
const FIELD = {process: 1, node: 2, resource: 4, value: 8, owner: 16, until: 32, fence: 64, version: 128,
  basis: 256, fault: 512, numbers: 1024, clients: 2048, nodes: 4096, sent: 8192, replied: 16384,
  since: 32768, ofValue: 65536, held: 131072, peers: 262144};
const SENDERS = 4096;

/* marks.h, by their numbers */
const BAR = {lease: 0, section: 1, key: 2, wait: 3};
const TURN = {open: 0, move: 1, close: 2};
const HOW = ['', 'released', 'told', 'killed', 'left', 'deleted', 'expired', 'taken', 'lost', 'replaced', 'ok',
  'refused', 'unknown'];

const SHAPES = META.shapes.map(([kind, f, type, cause, fault, links, node, fields, audit, command, marks]) => ({
  kind, f, type, cause, fault, links, node, fields, audit, command, until: 0,
  marks: marks.map(code => ({bar: code & 7, turn: code >> 3 & 3, how: HOW[code >> 5 & 15], rest: code >> 9})),
  /* Whether the state changes: a stretch without such an event may be folded. */
  busy: marks.some(code => (code & 7) !== BAR.wait) || ['fault', 'phase', 'notice', 'client'].includes(kind) ||
    f === 'write' && type === 'ok',
}));

/* A column for each field that is asked for often. */
const TIME = new Float64Array(N);
const SHAPE = new Uint16Array(N);
const PLACE = new Uint32Array(N);
const WHO = new Int32Array(N).fill(-1);
const VALUE = new Int32Array(N).fill(-1);
const OWNER = new Int32Array(N).fill(-1);
const UNTIL = new Float64Array(N).fill(NaN);
const SENT = new Float64Array(N).fill(NaN);

const reader = {at: 0};
function varint() {
  let sum = 0, scale = 1, byte;
  do {
    byte = ROWS[reader.at++];
    sum += (byte & 127) * scale;
    scale *= 128;
  } while (byte > 127);
  return sum;
}
function zigzag() {
  const code = varint();
  return code % 2 ? -(code + 1) / 2 : code / 2;
}

/* ---- layers ---------------------------------------------------------------------------------- */

class Layer {
  constructor() {
    this.start = [];
    this.end = [];
    this.from = []; /* event */
    this.more = [];
  }
  add(start, end, from, more) {
    this.start.push(start);
    this.end.push(end);
    this.from.push(from);
    this.more.push(more);
    return this.start.length - 1;
  }
  finish(last) {
    this.count = this.start.length;
    this.start = Float64Array.from(this.start);
    this.end = Float64Array.from(this.end);
    this.sum = new Float64Array(this.count + 1);
    for (let i = 0; i < this.count; i++) {
      const end = Math.min(this.end[i], last);
      this.sum[i + 1] = this.sum[i] + Math.max(0, end - this.start[i]);
    }
  }
  /* How long its bars were, up to a moment. */
  covered(time) {
    const i = Math.max(0, firstAtLeast(this.start, time) - 1);
    return this.count === 0 ? 0 :
      this.sum[i] + Math.max(0, Math.min(time, this.end[i], LAST) - this.start[i]);
  }
}

function firstAtLeast(array, wanted) {
  let low = 0, high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

let LAYERS, FAULTS, LATE, PROCESSES, NODES, BROUGHT, LAST = 1;
/* Resources side by side in a node's lane, where all are shown and they are few. */
const ROWS_OF_KEYS = 4;
let keyRows = 1;
const layer = name => LAYERS[name] || (LAYERS[name] = new Layer());

/* ---- one row --------------------------------------------------------------------------------- */

const row = {};
function readRow(i, time, shape) {
  const fields = shape.fields;
  row.process = fields & FIELD.process ? varint() - 1 : -1;
  row.node = fields & FIELD.node ? varint() : shape.node;
  row.resource = fields & FIELD.resource ? varint() : 0;
  if (fields & FIELD.value) {
    VALUE[i] = readValue(row.process);
    if (fields & FIELD.ofValue) row.process = BROUGHT[VALUE[i]];
    if (shape.f === 'set') readRow.held[row.node] = VALUE[i];
  }
  if (fields & FIELD.owner) readRow.held[row.node] = OWNER[i] = readValue(-1);
  else if (fields & FIELD.held) OWNER[i] = readRow.held[row.node];
  if (fields & FIELD.until) {
    shape.until += zigzag();
    UNTIL[i] = time + shape.until;
  }
  row.fence = fields & FIELD.fence ? varint() : 0;
  row.version = fields & FIELD.version ? zigzag() : 0;
  row.basis = fields & FIELD.basis ? zigzag() : 0;
  row.fault = fields & FIELD.fault ? varint() - 1 : -1;
  row.asked = fields & FIELD.numbers ? zigzag() : 0;
  row.seen = fields & FIELD.numbers ? zigzag() : 0;
  row.clients = fields & FIELD.clients ? [varint() - 1, varint() - 1] : null;
  row.nodes = fields & FIELD.nodes ? readNodes() : null;
  row.peers = fields & FIELD.peers ? readNodes() : null;
  if (fields & FIELD.sent) {
    const slot = (row.process + SENDERS) % SENDERS;
    SENT[i] = readRow.sent[slot] = readRow.sent[slot] + zigzag();
  }
  row.replied = fields & FIELD.replied ? time + zigzag() : NaN;
  row.since = fields & FIELD.since ? time - zigzag() : time;
}

function readValue(process) {
  const distance = varint();
  if (distance > 0) return BROUGHT.length - distance;
  BROUGHT.push(process);
  return BROUGHT.length - 1;
}

function readNodes() {
  const nodes = [], low = varint(), high = varint();
  for (let n = 0; n < 64; n++) if (Math.floor((n < 32 ? low : high) / 2 ** (n % 32)) % 2) nodes.push(n);
  return nodes;
}

/* All of one event, later. */
function eventAt(i) {
  reader.at = PLACE[i];
  const shape = SHAPES[varint()], event = {i, shape, time: TIME[i], process: WHO[i], value: VALUE[i],
    owner: OWNER[i], until: UNTIL[i], sent: SENT[i]};
  varint();
  const fields = shape.fields;
  const skip = bit => { if (fields & bit) varint(); };
  skip(FIELD.process);
  event.node = fields & FIELD.node ? varint() : shape.node;
  event.resource = fields & FIELD.resource ? varint() : 0;
  skip(FIELD.value);
  skip(FIELD.owner);
  skip(FIELD.until);
  event.fence = fields & FIELD.fence ? varint() : 0;
  event.version = fields & FIELD.version ? zigzag() : 0;
  event.basis = fields & FIELD.basis ? zigzag() : 0;
  event.fault = fields & FIELD.fault ? varint() - 1 : -1;
  event.asked = fields & FIELD.numbers ? zigzag() : 0;
  event.seen = fields & FIELD.numbers ? zigzag() : 0;
  if (fields & FIELD.clients) { varint(); varint(); }
  for (const masks of [FIELD.nodes, FIELD.peers]) if (fields & masks) { varint(); varint(); }
  skip(FIELD.sent);
  event.replied = fields & FIELD.replied ? event.time + zigzag() : NaN;
  event.since = fields & FIELD.since ? event.time - zigzag() : event.time;
  return event;
}

/* ---- what is drawn --------------------------------------------------------------------------- */

const opened = [new Map(), new Map(), new Map(), new Map()];
const ofResource = {op: 1, section: 1, notice: 1, lease: 1, node: 1};

function keyLayer(node, resource) {
  return 'key' + node + (keyRows > 1 ? '/' + resource : '');
}

function layerOfBar(bar, process, node, resource) {
  if (bar === BAR.key) return layer(keyLayer(keeperOf(node), resource));
  return layer(['lease', 'section', '', 'wait'][bar] + process);
}

function takeMark(i, time, mark) {
  const process = mark.rest & 1 ? varint() - 1 : row.process;
  const resource = mark.rest & 2 ? varint() : row.resource;
  const until = mark.rest & 4 ? UNTIL[i] : mark.rest & 8 ? time + zigzag() : NEVER;
  if (chosen.resource >= 0 && resource !== chosen.resource) return;
  const owner = mark.bar === BAR.key ? row.node : process;
  const key = mark.bar === BAR.wait || mark.bar === BAR.section ? owner : owner * META.resources.length + resource;
  const bars = layerOfBar(mark.bar, process, row.node, resource), open = opened[mark.bar];
  if (mark.turn === TURN.open) {
    const end = mark.bar === BAR.lease ? Math.max(time, until) : NEVER;
    open.set(key, bars.add(time, end, i, {process, resource, until, how: '', to: -1, f: SHAPES[SHAPE[i]].f}));
    return;
  }
  const j = open.get(key);
  if (j === undefined) return;
  if (mark.turn === TURN.move) {
    bars.more[j].until = until;
    if (mark.bar === BAR.lease) bars.end[j] = Math.max(bars.start[j], until);
    return;
  }
  bars.end[j] = time;
  bars.more[j].how = mark.how;
  bars.more[j].to = i;
  open.delete(key);
}

/* What is a point. */
function takePoint(i, time, shape) {
  const {kind, f, type} = shape;
  if (kind === 'op' && (f === 'write' && type !== 'invoke' || f === 'read' && type === 'fail')) {
    layer('store').add(time, time, i, {process: row.process, ok: type === 'ok', version: row.version, fence: row.fence,
      type});
  } else if (kind === 'notice' || kind === 'lease' || kind === 'client') {
    if (f !== 'started') layer('point' + row.process).add(time, time, i, {f});
  } else if (kind === 'node') {
    if (shape.marks.length === 0 || f === 'extended') {
      layer('at' + keeperOf(row.node)).add(time, time, i, {f, process: row.process, resource: row.resource});
    }
    if (row.process >= 0 && (shape.fields & FIELD.sent || shape.command)) {
      layer('messages').add(time, time, i, {node: row.node, replied: row.replied});
    }
  } else if (kind === 'late') {
    LATE.push({from: time - row.asked, to: time, cause: shape.cause, i});
  }
}

const openFaults = new Map();
function takeFault(i, time, shape) {
  let fault = openFaults.get(row.fault);
  if (shape.f === 'start') {
    fault = {number: row.fault, kind: shape.fault, start: time, end: NEVER, process: row.process, node: row.node,
      clients: row.clients, nodes: row.nodes, peers: row.peers, links: shape.links, asked: row.asked, seen: 0, i, struck: 0};
    openFaults.set(row.fault, fault);
    FAULTS.push(fault);
    return;
  }
  if (!fault) return;
  if (shape.f === 'effect') {
    fault.seen = row.seen;
    fault.struck++;
    if (fault.process < 0) fault.process = row.process;
    if (fault.node < 0) fault.node = row.node;
  } else {
    fault.end = time;
  }
}

/* Read every row. Only what is of the chosen resource is drawn. */
const chosen = {resource: -1};
function readAll() {
  let time = 0;
  LAYERS = {}; FAULTS = []; LATE = []; BROUGHT = [];
  const processes = new Set(), nodes = new Set();
  keyRows = chosen.resource < 0 && META.resources.length <= ROWS_OF_KEYS ? META.resources.length : 1;
  for (const open of opened) open.clear();
  for (const shape of SHAPES) shape.until = 0;
  openFaults.clear();
  readRow.sent = new Float64Array(SENDERS).fill(-META.base);
  readRow.held = [];
  reader.at = 0;
  for (let i = 0; i < N; i++) {
    PLACE[i] = reader.at;
    const number = varint(), shape = SHAPES[number];
    SHAPE[i] = number;
    time += varint();
    TIME[i] = time;
    readRow(i, time, shape);
    WHO[i] = row.process;
    for (const mark of shape.marks) takeMark(i, time, mark);
    if (shape.kind === 'fault') takeFault(i, time, shape);
    else if (chosen.resource < 0 || !ofResource[shape.kind] || row.resource === chosen.resource) takePoint(i, time, shape);
    if (row.process >= 0) processes.add(row.process);
    if (shape.kind === 'node') nodes.add(keeperOf(row.node));
  }
  LAST = Math.max(1, time);
  LATE.sort((a, b) => a.from - b.from);
  for (const name in LAYERS) LAYERS[name].finish(LAST);
  const struck = new Set(FAULTS.flatMap(fault => [...nodesOf(fault), ...fault.peers || []]));
  for (let n = 0; n < HEADER.nodes && !HEADER.unwatched; n++) if (!HEADER.cluster || struck.has(n)) nodes.add(n);
  if (HEADER.cluster && !HEADER.unwatched) nodes.add(CLUSTER);
  PROCESSES = [...processes].sort((a, b) => a - b);
  NODES = [...nodes].sort((a, b) => a - b);
}
