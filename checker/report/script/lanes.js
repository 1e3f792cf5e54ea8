/* lanes.js: which lanes there are, and each drawn: what is in view bar by bar, what is too much as
 * the exact share of each two pixels. */

const LANE = {faults: 17, store: 44, gap: 6};
let colour = {}, patterns = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  colour = {};
  patterns = {};
  for (const name of ['bg', 'panel', 'lane', 'ink', 'muted', 'line', 'grid', 'fail', 'unknown', 'focus', 'hatch', 'edge',
    'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']) colour[name] = style.getPropertyValue('--' + name).trim();
}

/* Those of the stories come first, so that they are blue and orange. */
let ranks = new Map();
function rankClients() {
  const told = new Set(META.causes.flatMap(one => one.involved).filter(p => p >= 0));
  const first = [...told].sort((a, b) => a - b);
  ranks = new Map([...first, ...PROCESSES.filter(p => !told.has(p))].map((p, k) => [p, k]));
}
const colourOf = p => p < 0 || isAuditor(p) ? colour.c0 : colour['c' + (1 + (ranks.get(p) || 0) % 6)];
function inkOn(hex) {
  const n = parseInt(hex.slice(1), 16);
  return .299 * (n >> 16) + .587 * (n >> 8 & 255) + .114 * (n & 255) > 135 ? '#101214' : '#ffffff';
}

/* Stripes: what is not as it should be, and faults. */
function hatch(c, ink, gap, back) {
  const key = ink + gap + back + picture.scale;
  if (patterns[key]) return patterns[key];
  const tile = document.createElement('canvas'), size = gap * picture.scale, t = tile.getContext('2d');
  tile.width = tile.height = size;
  t.strokeStyle = ink;
  t.lineWidth = picture.scale * 1.1;
  t.beginPath();
  for (const x of [-size, 0, size]) {
    t.moveTo(x, back ? 0 : size);
    t.lineTo(x + size, back ? size : 0);
  }
  t.stroke();
  const pattern = c.createPattern(tile, 'repeat');
  pattern.setTransform(new DOMMatrix().scale(1 / picture.scale));
  return patterns[key] = pattern;
}

/* What can be pointed at: {x, y, w, h, i, rank, fault}. */
let hits = [];
function hit(x, y, w, h, i, rank = 0, fault = null) {
  hits.push({x: x - Math.max(0, 3 - w / 2), y, w: Math.max(w, 6), h, i, rank, fault});
}

/* ---- which lanes ----------------------------------------------------------------------------- */

let lanes = [], faultRows = 0;

function placeFaults() {
  const ends = [];
  faultRows = 0;
  for (const fault of FAULTS) {
    let at = FAULTS.length <= 6 ? ends.length : ends.findIndex(end => end < fault.start);
    if (at < 0) at = ends.length < 6 ? ends.length : 5;
    ends[at] = Math.min(fault.end, LAST);
    fault.row = at;
    faultRows = Math.max(faultRows, at + 1);
  }
}

const involvedNow = () => cause() ? [...new Set([...cause().involved, ...cause().steps.map(step => step.p)])].filter(p => p >= 0) : [];

function shownClients() {
  const shown = PROCESSES.filter(p => !isAuditor(p) && !view.hiddenClients.has(p));
  const involved = involvedNow(), most = involved.length > 0 && shown.length > 6 ? Math.max(2, involved.length) : 24;
  if (view.all || shown.length <= most) return {clients: shown, left: 0};
  const first = shown.filter(p => involved.includes(p)), rest = shown.filter(p => !involved.includes(p));
  return {clients: first.concat(rest).slice(0, most).sort((a, b) => a - b), left: shown.length - most};
}

function layOut() {
  const wide = picture.width > 560, {clients, left} = shownClients();
  picture.gutter = wide ? 112 : 50;
  lanes = [];
  let y = 6;
  const add = (lane, height) => { lanes.push({...lane, y, h: height}); y += height; };
  const gap = pixels => { y += pixels; };
  if (FAULTS.length) { add({kind: 'faults', name: wide ? 'faults' : 'flt'}, faultRows * LANE.faults + 5); gap(5); }
  if (LAYERS.store) { add({kind: 'store', name: wide ? 'guarded store' : 'store'}, LANE.store); gap(LANE.gap); }
  const height = clients.length > 12 ? 24 : clients.length > 6 ? 34 : 46;
  for (const p of clients) add({kind: 'client', p, name: wide ? clientName(p) : clientShort(p)}, height);
  if (left) add({kind: 'more', name: wide ? `+ ${left} client${left > 1 ? 's' : ''}` : '+' + left}, 22);
  if (PROCESSES.includes(AUDITOR) && !view.hiddenClients.has(AUDITOR)) {
    add({kind: 'client', p: AUDITOR, name: wide ? 'auditor' : 'aud'}, 24);
  }
  gap(10);
  const keyHeight = keyRows > 1 ? Math.max(25, 12 * keyRows + 4) : NODES.length > 9 ? 18 : 25;
  for (const n of NODES) {
    if (!view.hiddenNodes.has(n)) add({kind: 'node', n, name: wide ? nodeName(n) : nodeShort(n)}, keyHeight);
  }
  if (HEADER.unwatched && HEADER.nodes > 0) add({kind: 'unwatched', name: 'nodes'}, 25);
  picture.height = y + 6;
}
const laneOf = (kind, which) => lanes.find(lane => lane.kind === kind && (kind === 'client' ? lane.p === which : kind === 'node' ? lane.n === which : true));

/* ---- few: each; many: shares ----------------------------------------------------------------- */

const manyBars = () => Math.max(250, inner() * .6);
function eachBar(bars, from, to, each, share) {
  if (!bars || bars.count === 0) return;
  const first = Math.max(0, firstAtLeast(bars.start, from) - 3), last = firstAtLeast(bars.start, to);
  if (last - first <= manyBars()) {
    for (let j = first; j < last; j++) if (bars.end[j] >= from) each(j);
    return;
  }
  if (!share) return;
  let before = bars.covered(timeAt(picture.gutter)), begun = firstAtLeast(bars.start, timeAt(picture.gutter));
  for (let x = picture.gutter; x < picture.width; x += 2) {
    const left = timeAt(x), right = timeAt(x + 2), after = bars.covered(right), count = firstAtLeast(bars.start, right);
    if (count > begun || after > before) share(x, Math.min(1, (after - before) / (right - left)), count - begun, Math.max(0, count - 1));
    before = after;
    begun = count;
  }
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Hatched on the lanes of those whom it strikes; only an edge where it is about links. */
const STOPS = ['pause', 'slow', 'kill', 'crash', 'power_loss', 'shutdown', 'stall', 'refuse_writes', 'failover', 'evict'];
function drawFaultGrounds(c) {
  for (const fault of FAULTS) {
    const from = xOf(fault.start), to = Math.max(xOf(Math.min(fault.end, LAST)), from + 1);
    if (to < picture.gutter || from > picture.width || !STOPS.includes(fault.kind) && fault.kind !== 'partition') continue;
    const clients = clientsOf(fault), edge = fault.kind === 'partition';
    const struck = lane => lane.kind === 'client' && clients && lane.p >= clients[0] && lane.p <= clients[1] ||
      lane.kind === 'node' && (nodesOf(fault).includes(lane.n) || fault.peers && fault.peers.includes(lane.n));
    for (const lane of lanes.filter(struck)) {
      c.fillStyle = hatch(c, colour.hatch, edge ? 5 : 7);
      c.globalAlpha = edge ? .7 : .5;
      c.fillRect(from, edge ? lane.y + lane.h - 4 : lane.y + 1, Math.max(3, to - from), edge ? 3 : lane.h - 2);
      c.globalAlpha = 1;
    }
  }
}

function drawFaults(c, lane) {
  for (const fault of FAULTS) {
    const from = xOf(fault.start), to = fault.end < NEVER ? xOf(fault.end) : picture.width + 20;
    const y = lane.y + 2 + fault.row * LANE.faults, width = Math.max(4, to - from);
    if (to < picture.gutter || from > picture.width) continue;
    const matters = cause() && (cause().faults.includes(fault.number) || cause().steps.some(step => step.i === fault.i));
    const style = {size: 11, weight: matters ? '700' : ''};
    c.fillStyle = colour.panel;
    c.fillRect(from, y, width, 15);
    c.fillStyle = hatch(c, colour.hatch, 6);
    c.fillRect(from, y, width, 15);
    frame(c, matters ? colour.ink : colour.hatch, from, y, width, 15, {weight: matters ? 1.6 : 1});
    const text = (fault.number + 1) + ' ' + faultText(fault), whole = widthOf(c, text, style);
    const left = Math.max(picture.gutter, from) + 5, visible = Math.min(to, picture.width) - left;
    const next = FAULTS.reduce((x, other) => other !== fault && other.row === fault.row && other.start > fault.start ?
      Math.min(x, xOf(other.start)) : x, picture.width);
    const behind = Math.max(picture.gutter, to) + 4, within = visible > whole + 6 || next - behind < Math.min(whole, visible);
    const before = FAULTS.reduce((x, other) => other !== fault && other.row === fault.row && other.start < fault.start ?
      Math.max(x, xOf(Math.min(other.end, LAST))) : x, picture.gutter);
    const ahead = !within && next - behind - 4 < whole && from - before > whole + 12;
    const shown = ahead ? text : fitted(c, text, within ? visible - 6 : next - behind - 4, style);
    if (shown) plate(c, shown, ahead ? from - whole - 6 : within ? left : behind, y + 8, colour.ink, style);
    hit(from, y, Math.max(width, within ? width : width + widthOf(c, shown, style)), 16, fault.i, 2, fault);
  }
}

/* ---- the guarded store ----------------------------------------------------------------------- */

function drawStore(c, lane) {
  const store = LAYERS.store, base = lane.y + lane.h - 6.5, bad = cause() ? cause().steps.filter(step => step.store && step.bad).map(step => step.i) : [];
  const from = timeAt(picture.gutter), to = timeAt(picture.width);
  line(c, colour.line, 1, [[picture.gutter, base], [picture.width, base]]);
  eachBar(store, from, to, j => {
    const x = xOf(store.start[j]), i = store.from[j], more = store.more[j], wrong = bad.includes(i);
    if (more.ok) {
      c.fillStyle = wrong ? colour.fail : colourOf(more.process);
      c.beginPath();
      c.moveTo(x, base - 13);
      c.lineTo(x + 6, base);
      c.lineTo(x - 6, base);
      c.fill();
      if (wrong) cross(c, colour.fail, x, base - 7, 7);
      const next = j + 1 < store.count ? xOf(store.start[j + 1]) : NEVER;
      const text = 'v' + more.version + (more.fence && HEADER.fenced ? ' fence ' + fenceText(more.fence) : '');
      const room = widthOf(c, text, {size: 10}) + 18, high = next - x <= room;
      const at = high && !wrong ? null : spotBeside(c, text, x, 10, high ? base - 19 : base - 6, {size: 10});
      if (at && high) plate(c, text, at.x, base - 19, colour.fail, {size: 10});
      else if (at) write(c, text, at.x, base - 6, wrong ? colour.fail : colour.muted, {size: 10});
    } else {
      cross(c, colour.unknown, x, base - 6, 5, 1.6);
      const text = (more.type === 'fail' ? 'refused' : 'unknown') + (more.fence ? ' fence ' + fenceText(more.fence) : '');
      const style = {size: 10, weight: '600'}, at = spotBeside(c, text, x, 9, base - 6, style);
      if (at) plate(c, at.text, at.x, base - 6, colour.unknown, style, colour.lane);
    }
    hit(x - 6, base - 14, 12, 17, i, 3);
  }, (x, _, count) => {
    if (!count) return;
    const height = Math.min(18, 3 + Math.log2(count + 1) * 4);
    c.fillStyle = colour.muted;
    c.fillRect(x, base - height, 2, height);
  });
  for (const i of bad) line(c, colour.fail, 2, [[xOf(TIME[i]), lane.y + 2], [xOf(TIME[i]), base]]);
}
const fenceText = fence => fence > 99999 ? '\u2026' + String(fence).slice(-4) : String(fence);

/* ---- clients --------------------------------------------------------------------------------- */

function drawLeases(c, lane, at) {
  const bars = LAYERS['lease' + lane.p], ink = colourOf(lane.p);
  eachBar(bars, timeAt(picture.gutter), timeAt(picture.width), j => {
    const from = xOf(bars.start[j]), to = xOf(bars.end[j]), {until, how} = bars.more[j], dead = until < bars.start[j];
    c.fillStyle = ink;
    c.globalAlpha = .22;
    c.fillRect(from, at.top, Math.max(1.5, to - from), at.height);
    c.globalAlpha = 1;
    frame(c, ink, from, at.top, Math.max(2, to - from), at.height, {weight: 1.2});
    hit(from, at.top, to - from, at.height, bars.from[j], 0);
    if (until === NEVER || how && !dead) return; /* given back, or without a promised end */
    const end = xOf(until), flag = dead ? colour.fail : ink;
    if (dead) line(c, colour.fail, 1.4, [[end, at.top + at.height / 2], [from, at.top + at.height / 2]], [3, 3]);
    if (at.small || end < picture.gutter || end > picture.width || !dead && end - from < 14) return;
    line(c, flag, 2, [[end, at.top - 3], [end, at.top + at.height + 3]]);
    c.fillStyle = flag;
    c.beginPath();
    c.moveTo(end, at.top - 4);
    c.lineTo(end - 7, at.top - .5);
    c.lineTo(end, at.top + 3);
    c.fill();
    const words = 'promised until here', width = widthOf(c, words, {size: 10});
    const behind = lane.h > 40 && dead && inner() > 500, fits = lane.h > 40 && end - width - 8 > Math.max(from, picture.gutter) + 10;
    const place = behind || fits ? spotAt(c, words, behind ? end + 7 : end - width - 7, at.top + 11, {size: 10}) : null;
    if (place) plate(c, words, place.x, at.top + 11, behind ? colour.fail : colour.ink, {size: 10});
  }, (x, share) => {
    c.fillStyle = ink;
    c.globalAlpha = .35;
    c.fillRect(x, at.top + at.height * (1 - share), 2, at.height * share);
    c.globalAlpha = 1;
  });
}

/* When the lease under a section was over; NEVER: not before it ended. */
function leaseEnd(p, time, resource) {
  const bars = LAYERS['lease' + p];
  if (!bars) return NEVER;
  for (let j = firstAtLeast(bars.start, time + 1) - 1, k = 0; j >= 0 && k < 16; j--, k++) {
    if (bars.more[j].resource === resource) return bars.end[j];
  }
  return NEVER;
}

function drawSections(c, lane, at) {
  const bars = LAYERS['section' + lane.p], ink = colourOf(lane.p);
  eachBar(bars, timeAt(picture.gutter), timeAt(picture.width), j => {
    const from = xOf(bars.start[j]), open = bars.end[j] === NEVER, to = open ? xOf(LAST) : xOf(bars.end[j]), width = Math.max(2, to - from);
    const over = leaseEnd(lane.p, bars.start[j], bars.more[j].resource), late = over < Math.min(bars.end[j], LAST);
    c.fillStyle = ink;
    c.fillRect(from, at.inTop, width, at.inHeight);
    frame(c, colour.edge, from, at.inTop, width, at.inHeight);
    const x = late ? Math.max(from, xOf(Math.max(over, bars.start[j]))) : to, middle = at.inTop + at.inHeight / 2 + .5;
    if (late) {
      c.fillStyle = hatch(c, colour.bg, 5, true);
      c.fillRect(x, at.inTop, Math.max(2, to - x), at.inHeight);
      frame(c, colour.fail, x, at.inTop - 1, Math.max(2, to - x), at.inHeight + 2, {weight: 1.8});
    }
    const spotIn = (words, left, right, style) => at.small ? null :
      spot(c, words, Math.max(left, picture.gutter) + 5, Math.min(right, picture.width) - 4, middle, style);
    const bold = {weight: '600'}, gone = late && spotIn(['inside, lease over', 'lease over', 'over'], x, to, bold);
    const held = spotIn(['inside', 'in'], from, x);
    if (gone) plate(c, gone.text, gone.x, middle, colour.fail, bold);
    if (held) write(c, held.text, held.x, middle, inkOn(ink));
    hit(from, at.inTop, width, at.inHeight, bars.from[j], 2);
  }, (x, share) => {
    c.fillStyle = ink;
    c.fillRect(x, at.inTop + at.inHeight * (1 - share), 2, Math.max(1, at.inHeight * share));
  });
}

const WAITS = {acquire: 'waits', extend: 'extends', release: 'releases', write: 'writes', read: 'reads'};
function drawWaits(c, lane, at) {
  const bars = LAYERS['wait' + lane.p];
  eachBar(bars, timeAt(picture.gutter), timeAt(picture.width), j => {
    const from = xOf(bars.start[j]), {how, f, to: end} = bars.more[j], to = bars.end[j] === NEVER ? xOf(LAST) : xOf(bars.end[j]);
    c.fillStyle = colour.muted;
    c.globalAlpha = .8;
    c.fillRect(from, at.waitTop, Math.max(1, to - from), at.small ? 2 : 3);
    c.globalAlpha = 1;
    if (bars.end[j] === NEVER) line(c, colour.muted, 3, [[to, at.waitTop + 1], [picture.width, at.waitTop + 1]], [2, 4]);
    if (!at.small && how !== 'ok' && how && to - from > 6) cross(c, colour.muted, to, at.waitTop + 1.5, 3, 1.4);
    const words = (WAITS[f] || f) + (how === 'ok' || !how ? '' : ', ' + how);
    const left = Math.max(from, picture.gutter) + 8;
    const place = at.small ? null : spot(c, [words], left, Math.min(to, picture.width) - 16, at.waitTop + 1.5, {size: 10});
    if (place) plate(c, words, place.x, at.waitTop + 1.5, colour.muted, {size: 10}, colour.lane);
    hit(from, at.waitTop - 3, Math.max(4, to - from), 9, end >= 0 ? end : bars.from[j], 1);
  }, (x, share) => {
    c.fillStyle = colour.muted;
    c.globalAlpha = .2 + .6 * share;
    c.fillRect(x, at.waitTop, 2, at.small ? 2 : 3);
    c.globalAlpha = 1;
  });
}

const POINTS = {lost: 'told: lost', killed: 'killed', moved: 'end moves', 'value-mismatch': 'value mismatch', unasked: 'answered unasked'};
function drawClient(c, lane) {
  const small = lane.h < 30, at = {small, top: lane.y + (small ? 3 : 5), height: small ? 12 : 22,
    inTop: lane.y + (small ? 5 : 9), inHeight: small ? 8 : 14, waitTop: lane.y + lane.h - (small ? 5 : 10)};
  drawLeases(c, lane, at);
  drawSections(c, lane, at);
  drawWaits(c, lane, at);
  const points = LAYERS['point' + lane.p], ink = colourOf(lane.p);
  eachBar(points, timeAt(picture.gutter), timeAt(picture.width), j => {
    const x = xOf(points.start[j]), words = POINTS[points.more[j].f];
    if (!words) return;
    if (points.more[j].f === 'moved' && eventAt(points.from[j]).fault < 0) {
      line(c, ink, 1.5, [[x, at.top + at.height - 5], [x, at.top + at.height + 3]]);
      hit(x - 4, at.top, 8, at.height, points.from[j], 3);
      return;
    }
    line(c, colour.fail, 2, [[x, lane.y + 2], [x, lane.y + lane.h - 2]]);
    const style = {size: 10, weight: '600'};
    const place = small || points.count >= 40 ? null : spotBeside(c, words, x, 5, lane.y + lane.h - 8, style);
    if (place) plate(c, words, place.x, lane.y + lane.h - 8, colour.fail, style, colour.lane);
    hit(x - 4, lane.y, 8, lane.h, points.from[j], 3);
  });
  for (const fault of FAULTS) {
    const clients = clientsOf(fault), mine = clients && clients[0] <= lane.p && clients[1] >= lane.p;
    if (mine && fault.kind === 'pause' && !small && fault.start > 0) {
      const from = Math.max(picture.gutter, xOf(fault.start)), to = Math.min(picture.width, xOf(Math.min(fault.end, LAST)));
      const words = 'paused ' + lengthText(Math.min(fault.end, LAST) - fault.start), style = {size: 11, weight: '600'};
      const width = widthOf(c, words, style), y = at.top + at.height / 2 + .5;
      const place = to - from <= width + 40 ? null : spotAt(c, words, (from + to) / 2 - width / 2, y, style) ||
        spot(c, [words], from + 8, to - 8, y, style);
      if (place) plate(c, words, place.x, y, colour.ink, style);
    }
  }
  drawClock(c, lane, fault => { const clients = clientsOf(fault); return clients && clients[0] <= lane.p && clients[1] >= lane.p; });
}

/* ---- clocks: a step where one jumped, dashes while it runs wrong ------------------------------ */

function drawClock(c, lane, mine) {
  const clocks = FAULTS.filter(fault => (fault.kind === 'clock_jump' || fault.kind === 'clock_rate') && mine(fault));
  if (clocks.length === 0) return;
  let offset = 0, words = '';
  const base = lane.y + lane.h - 1.5, top = lane.y + 1.5;
  const points = [[picture.gutter, base]];
  for (const fault of clocks) {
    const x = xOf(fault.start);
    if (fault.kind === 'clock_rate') {
      const to = xOf(Math.min(fault.end, LAST));
      line(c, colour.unknown, 2, [[x, base], [to, base]], [5, 3]);
      if (x <= picture.width && to > picture.gutter) words = 'clock \u00d7' + fault.asked / 1e6;
      continue;
    }
    if (x > picture.width) continue;
    const y = points[points.length - 1][1];
    offset += fault.seen || fault.asked;
    points.push([x, y], [x, offset === 0 ? base : top]);
    words = 'clock ' + signed(offset);
  }
  if (points.length > 1) {
    points.push([picture.width, points[points.length - 1][1]]);
    line(c, colour.unknown, 1.6, points);
  }
  const style = {size: 10, weight: '600'}, y = lane.y + lane.h / 2;
  const place = words && spotAt(c, words, picture.width - widthOf(c, words, style) - 8, y, style);
  if (place) plate(c, words, place.x, y, colour.unknown, style);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A key that should have lived: a hollow up to the end it was to have, or up to the next key. */
function drawLost(c, bars, j, to, at, ink) {
  const {until, to: end, how} = bars.more[j], next = j + 1 < bars.count ? xOf(bars.start[j + 1]) : picture.width;
  const hollow = Math.min(until === NEVER ? picture.width : xOf(until), next, picture.width + 5);
  if (hollow - to > 2) frame(c, ink, to, at.top, hollow - to, at.height, {dash: [3, 3]});
  line(c, colour.fail, 2.4, [[to - 4, at.top], [to + 5, at.top + at.height]]);
  line(c, colour.fail, 2.4, [[to + 5, at.top], [to - 4, at.top + at.height]]);
  const why = SHAPES[SHAPE[end]].cause, words = how === 'taken' ? 'taken by ' + clientName(WHO[end]) : 'key lost: ' + clean(why).replace('-', ' ');
  const style = {size: 11, weight: '600'}, y = at.top + at.height / 2 + .5;
  const place = spot(c, [words], Math.max(to, picture.gutter) + 12, Math.min(hollow, picture.width) - 4, y, style);
  if (place) plate(c, words, place.x, y, colour.fail, style);
  hit(to - 5, at.top, 14, at.height, end, 4);
}

function drawKeys(c, lane, bars, at) {
  eachBar(bars, timeAt(picture.gutter), timeAt(picture.width), j => {
    const {process, how, to: end} = bars.more[j], ink = colourOf(process), from = xOf(bars.start[j]);
    const to = bars.end[j] === NEVER ? xOf(LAST) : xOf(bars.end[j]), width = Math.max(1.5, to - from);
    c.fillStyle = ink;
    c.globalAlpha = .84;
    c.fillRect(from, at.top, width, at.height);
    c.globalAlpha = 1;
    if (width > 3) frame(c, colour.edge, from, at.top, width, at.height);
    if (how === 'lost' || how === 'taken') drawLost(c, bars, j, to, at, ink);
    else if (how === 'expired') {
      c.fillStyle = colour.ink;
      for (let k = 0; k < 3; k++) c.fillRect(to + 1 + k * 3, at.top + 3, 1.4, at.height - 6);
      hit(to - 2, at.top, 12, at.height, end, 2);
    } else if (how === 'deleted') {
      c.fillStyle = colour.ink;
      c.fillRect(to - 1, at.top, 1.6, at.height);
    }
    hit(from, at.top, width, at.height, bars.from[j], 0);
  }, (x, share, count, j) => {
    c.fillStyle = colourOf(bars.more[j].process);
    c.globalAlpha = .84;
    c.fillRect(x, at.top + at.height * (1 - share), 2, at.height * share);
    c.globalAlpha = 1;
  });
  for (const j of lostIn(bars)) {
    const x = xOf(bars.end[j]);
    if (x >= picture.gutter && x <= picture.width) { c.fillStyle = colour.fail; c.fillRect(x - 1, at.top, 2, at.height); }
  }
}

/* What is rare is never averaged away: lost keys of a layer, at most as many as can be seen. */
function lostIn(bars) {
  if (!bars || bars.count === 0) return [];
  if (!bars.lost) {
    bars.lost = [];
    for (let j = 0; j < bars.count && bars.lost.length < 2000; j++) if (bars.more[j].how === 'lost' || bars.more[j].how === 'taken') bars.lost.push(j);
  }
  return bars.lost;
}

/* Whose keys they are, over what was refused meanwhile. */
function drawOwners(c, bars, points, at) {
  if (at.height < 10) return;
  eachBar(bars, timeAt(picture.gutter), timeAt(picture.width), j => {
    const {process} = bars.more[j], ink = colourOf(process), y = at.top + at.height / 2 + .5, style = {size: 10};
    const right = bars.end[j] === NEVER ? xOf(LAST) : xOf(bars.end[j]);
    const place = spot(c, [clientName(process).replace('the ', ''), clientShort(process)],
      Math.max(xOf(bars.start[j]), picture.gutter) + 5, Math.min(right, picture.width) - 4, y, style);
    if (!place) return;
    const to = place.x + widthOf(c, place.text, style);
    c.fillStyle = ink;
    if (points && firstAtLeast(points.start, timeAt(place.x - 7)) < firstAtLeast(points.start, timeAt(to + 7))) {
      c.fillRect(place.x - 3, at.top + 1.5, to - place.x + 6, at.height - 3);
    }
    write(c, place.text, place.x, y, inkOn(ink), style);
  });
}

function drawNode(c, lane) {
  const height = (lane.h - 8 - 2 * (keyRows - 1)) / keyRows, row = r => ({top: lane.y + 4 + r * (height + 2), height});
  for (let r = 0; r < keyRows; r++) drawKeys(c, lane, LAYERS[keyLayer(lane.n, r)], row(r));
  const points = LAYERS['at' + lane.n];
  eachBar(points, timeAt(picture.gutter), timeAt(picture.width), j => {
    const x = xOf(points.start[j]), {f, process, resource} = points.more[j];
    const top = lane.y + 4 + (keyRows > 1 ? resource * (height + 2) : 0);
    if (f === 'refused') {
      c.fillStyle = colour.bg;
      c.beginPath();
      c.arc(x, top + height / 2, Math.min(3.4, height / 2 - 1), 0, 7);
      c.fill();
      c.strokeStyle = colourOf(process);
      c.lineWidth = 1.8;
      c.stroke();
      c.lineWidth = 1;
      hit(x - 3, top, 6, height, points.from[j], 2);
    } else if (f === 'node-error') {
      c.fillStyle = colour.unknown;
      c.fillRect(x - 1.5, top, 3, height);
      hit(x - 3, top, 6, height, points.from[j], 2);
    } else {
      c.fillStyle = colour.muted;
      c.fillRect(x - .5, top + height - 4, 1.4, 4);
      hit(x - 2, top + height - 5, 4, 5, points.from[j], 1);
    }
  });
  drawClock(c, lane, fault => nodesOf(fault).includes(lane.n) && !fault.clients && fault.process < 0);
  for (let r = 0; r < keyRows; r++) drawOwners(c, LAYERS[keyLayer(lane.n, r)], points, row(r));
}

/* ---- messages -------------------------------------------------------------------------------- */

const manyMessages = () => Math.max(160, inner() * .28);
/* Sent at its client, there at its node, and the reply back at its client, where that is known. */
function drawMessages(c, from, to) {
  const messages = LAYERS.messages;
  if (!view.messages || !messages) return 'none';
  const first = firstAtLeast(messages.start, from), last = firstAtLeast(messages.start, to);
  if (last - first > manyMessages()) return 'too many';
  for (let j = first; j < last; j++) {
    const i = messages.from[j], client = laneOf('client', WHO[i]), node = laneOf('node', keeperOf(messages.more[j].node));
    if (!client || !node) continue;
    const x = xOf(TIME[i]), top = client.y + client.h - 5, bottom = node.y + 4, back = messages.more[j].replied;
    const counts = SHAPES[SHAPE[i]].f === 'set', ink = colourOf(WHO[i]);
    if (isNaN(SENT[i])) { /* only when it arrived was recorded */
      c.globalAlpha = counts ? .8 : .38;
      line(c, ink, 1, [[x, top], [x, bottom]], [1, 3]);
      c.globalAlpha = 1;
      continue;
    }
    c.globalAlpha = counts ? .8 : .38;
    line(c, ink, counts ? 1.3 : .9, [[xOf(SENT[i]), top], [x, bottom]]);
    c.globalAlpha = counts ? .6 : .28;
    if (!isNaN(back)) line(c, ink, counts ? 1.2 : .8, [[x, bottom], [xOf(back), top]], [4, 2]);
    else {
      line(c, ink, 1, [[x, bottom], [x + 10, bottom - 12]], [2, 2]);
      c.globalAlpha = 1;
      cross(c, colour.fail, x + 12, bottom - 14, 2.5, 1.4);
    }
    c.globalAlpha = 1;
  }
  return 'drawn';
}
