/* input.js: pointing, keys, buttons, filters, the table, places to link to; and the start. */

const pressed = (id, on) => byId(id).setAttribute('aria-pressed', on);
function element(tag, text, title) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (title) made.title = title;
  return made;
}

/* ---- telling --------------------------------------------------------------------------------- */

const HELP = 'Point at anything, or press Tab and the arrow keys. ? lists the keys.';
function momentLine(i) {
  const from = fromViolation(TIME[i]);
  return `${momentText(TIME[i])}${from ? ' \u00b7 ' + from : ''} \u00b7 ${lineOf(i)}`;
}
function wordsOf(i, fault) {
  const file = fault && META.faults[fault.number];
  return fault ? `fault ${fault.number + 1}: ${faultText(fault)}` + (file ? ` \u2014 in the scenario: ${clean(file)}` : '') : eventText(i);
}
function tell(i, fault) {
  const says = byId('say');
  if (i < 0) { says.replaceChildren(element('span', HELP)); return; }
  says.replaceChildren(element('b', wordsOf(i, fault)), element('span', ' \u00b7 ' + momentLine(i)));
}
const announce = text => { byId('live').textContent = text; };

/* ---- going places ---------------------------------------------------------------------------- */

function showCause(k) {
  if (!META.causes.length) return;
  const count = META.causes.length, old = view.cause;
  view.cause = (k + count) % count;
  view.step = -1;
  if (view.cause !== old) {
    if (chosen.resource >= 0 && chosen.resource !== cause().resource) choose(cause().resource);
    const folded = view.folded;
    view.folded = false;
    makeFolds();
    view.folded = (folded || foldHelps) && fold.folds.length > 0;
    pressed('b-fold', view.folded);
  }
  document.querySelectorAll('details.cause').forEach((part, j) => { part.open = j === view.cause; });
  view.focus = cause().i;
  layOut();
  lookAtCause();
  tell(view.focus);
  announce(`Finding ${view.cause + 1} of ${count}: ${clean(cause().title)}`);
  save();
}

function bringIntoView(time) {
  const place = toPlace(time), size = view.to - view.from;
  if (place < view.from + size * .02 || place > view.to - size * .02) look(place - size / 2, place + size / 2);
}

function showStep(j) {
  const steps = cause() ? cause().steps : [];
  if (!steps.length) return;
  view.step = (j + steps.length) % steps.length;
  view.focus = steps[view.step].i;
  bringIntoView(steps[view.step].t);
  document.querySelectorAll('[data-step]').forEach(button => button.removeAttribute('aria-current'));
  const open = document.querySelectorAll('details.cause')[view.cause];
  const button = open && open.querySelector(`[data-step="${view.step}"]`);
  if (button) button.setAttribute('aria-current', 'step');
  tell(view.focus);
  announce(`Evidence ${view.step + 1}: ${clean(steps[view.step].says)}`);
  scrollToLane(view.focus);
  drawSoon();
  save();
}

function laneOfEvent(i) {
  const shape = SHAPES[SHAPE[i]];
  if (shape.kind === 'node') return laneOf('node', keeperOf(shape.node >= 0 ? shape.node : eventAt(i).node));
  if (shape.kind === 'fault') return laneOf('faults');
  if (shape.f === 'write' && shape.type !== 'invoke') return laneOf('store') || laneOf('client', WHO[i]);
  return WHO[i] >= 0 ? laneOf('client', WHO[i]) : lanes[0];
}
function scrollToLane(i) {
  const lane = laneOfEvent(i);
  if (!lane || scroller.clientHeight >= picture.height) return;
  if (lane.y < scroller.scrollTop) scroller.scrollTop = lane.y - 10;
  if (lane.y + lane.h > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = lane.y + lane.h - scroller.clientHeight + 10;
}
function focusOn(i) {
  view.focus = i;
  bringIntoView(TIME[i]);
  scrollToLane(i);
  tell(i);
  announce(`${eventText(i)}, ${momentText(TIME[i])}, ${lineOf(i)}`);
  drawSoon();
  save();
}

const SEARCH_MOST = 300000;
function moveEvent(by) {
  if (N === 0) return;
  const lane = view.focus >= 0 ? laneOfEvent(view.focus) : null;
  let i = view.focus >= 0 ? view.focus + by : firstAtLeast(TIME, timeAt(picture.gutter));
  for (let k = 0; k < SEARCH_MOST && i >= 0 && i < N; k++, i += by) {
    if (!lane || laneOfEvent(i) === lane) { focusOn(i); return; }
  }
}
function moveLane(by) {
  const time = view.focus >= 0 ? TIME[view.focus] : timeAt(picture.gutter), near = Math.min(N - 1, firstAtLeast(TIME, time));
  const from = view.focus >= 0 ? lanes.indexOf(laneOfEvent(view.focus)) : -1;
  for (let j = from + by; j >= 0 && j < lanes.length; j += by) {
    for (let k = 0; k < 20000; k++) {
      for (const i of [near + k, near - k]) if (i >= 0 && i < N && laneOfEvent(i) === lanes[j]) { focusOn(i); return; }
    }
  }
}

const actions = {
  '+': () => zoom(.6), '=': () => zoom(.6), '-': () => zoom(1.67), a: () => look(0, limit()),
  v: () => showCause(view.cause), n: () => showCause(view.cause + 1), p: () => showCause(view.cause - 1),
  '[': () => showStep(view.step < 0 ? -1 : view.step - 1), ']': () => showStep(view.step + 1),
  h: () => pan(-.25), l: () => pan(.25), f: () => toggleFold(), m: () => toggleMessages(),
  ArrowLeft: () => moveEvent(-1), ArrowRight: () => moveEvent(1), ArrowUp: () => moveLane(-1), ArrowDown: () => moveLane(1),
  Home: () => look(0, view.to - view.from), End: () => look(limit() - (view.to - view.from), limit()),
  Escape: () => { view.focus = -1; tell(-1); drawSoon(); save(); },
  '?': () => { byId('keys').open = !byId('keys').open; byId('keys').scrollIntoView({block: 'nearest'}); },
};
function toggleFold() {
  setFolded(!view.folded);
  pressed('b-fold', view.folded);
  save();
}
function toggleMessages() {
  view.messages = !view.messages;
  pressed('b-msg', view.messages);
  drawSoon();
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /SELECT|INPUT/.test(event.target.tagName)) return;
  const within = event.target === canvases.lanes, key = event.key;
  if (/^Arrow|^Home$|^End$/.test(key)) {
    if (!within) return;
    if (event.shiftKey && (key === 'ArrowLeft' || key === 'ArrowRight')) {
      pan(key === 'ArrowLeft' ? -.25 : .25);
      event.preventDefault();
      return;
    }
  }
  if (actions[key]) { actions[key](); event.preventDefault(); save(); }
});
for (const [id, key] of [['b-prev', 'p'], ['b-next', 'n'], ['b-v', 'v'], ['b-l', 'h'], ['b-out', '-'], ['b-in', '+'], ['b-r', 'l'],
  ['b-all', 'a'], ['b-fold', 'f'], ['b-msg', 'm']]) byId(id).onclick = () => { actions[key](); save(); };

/* ---- pointing -------------------------------------------------------------------------------- */

const tip = byId('tip');
function pick(x, y) {
  let best = null;
  const top = y + scroller.scrollTop;
  for (const one of hits) {
    const inside = x >= one.x && x <= one.x + one.w && top >= one.y - 1 && top <= one.y + one.h + 1;
    if (inside && (!best || one.rank > best.rank || one.rank === best.rank && one.w < best.w)) best = one;
  }
  return best;
}
const within = (canvas, event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

canvases.lanes.addEventListener('pointermove', event => {
  if (drag) return;
  const [x, y] = within(canvases.lanes, event), one = x > picture.gutter ? pick(x, y) : null;
  view.pointer = x > picture.gutter ? x : null;
  drawSoon();
  if (!one) { tip.style.display = 'none'; return; }
  tell(one.i, one.fault);
  if (event.pointerType !== 'mouse') return;
  tip.replaceChildren(element('div', wordsOf(one.i, one.fault)), element('div', `${momentText(TIME[one.i])} \u00b7 ${lineOf(one.i)}`));
  tip.style.display = 'block';
  tip.style.left = Math.max(4, Math.min(innerWidth - tip.offsetWidth - 8, event.clientX + 14)) + 'px';
  tip.style.top = Math.min(innerHeight - tip.offsetHeight - 8, event.clientY + 16) + 'px';
});
canvases.lanes.addEventListener('pointerleave', () => { tip.style.display = 'none'; view.pointer = null; drawSoon(); });

let drag = null;
const fingers = new Map();
function overviewPlace(x) { return (x - picture.gutter) / inner() * limit(); }

function pressDown(canvas, kind, event) {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, event.clientX);
  drag = {kind, x: event.clientX, from: view.from, to: view.to, moved: 0};
  if (kind !== 'overview') return;
  const place = overviewPlace(within(canvas, event)[0]), half = (view.to - view.from) / 2;
  if (place < view.from || place > view.to) { look(place - half, place + half); drag.from = view.from; drag.to = view.to; }
}
function move(canvas, kind, event) {
  if (!drag || drag.kind !== kind) return;
  if (fingers.size === 2) {
    const old = [...fingers.values()];
    fingers.set(event.pointerId, event.clientX);
    const now = [...fingers.values()], before = Math.abs(old[0] - old[1]), after = Math.abs(now[0] - now[1]);
    drag.moved = 99;
    if (before > 5 && after > 5) zoom(before / after, (now[0] + now[1]) / 2 - canvas.getBoundingClientRect().left);
    return;
  }
  const by = event.clientX - drag.x;
  drag.moved = Math.max(drag.moved, Math.abs(by));
  if (drag.moved < 4) return;
  tip.style.display = 'none';
  const shift = kind === 'overview' ? by / inner() * limit() : -by / inner() * (drag.to - drag.from);
  look(drag.from + shift, drag.to + shift);
}
function letGo(canvas, kind, event) {
  fingers.delete(event.pointerId);
  if (drag && drag.moved < 4 && kind === 'lanes') {
    const [x, y] = within(canvas, event), top = y + scroller.scrollTop;
    const more = lanes.find(lane => lane.kind === 'more' && top >= lane.y && top < lane.y + lane.h), one = pick(x, y);
    if (more) showAllClients(true);
    else if (one) { view.focus = one.i; tell(one.i, one.fault); drawSoon(); }
  }
  drag = null;
  save();
}
function wheel(canvas, kind, event) {
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
  if (sideways) { event.preventDefault(); pan((event.deltaX || event.deltaY) / 900); save(); return; }
  const free = kind !== 'lanes' || event.ctrlKey || event.metaKey || document.activeElement === canvases.lanes && scroller.clientHeight >= picture.height;
  if (!free) { byId('hint').textContent = 'Ctrl + wheel zooms (or click the picture first)'; return; }
  event.preventDefault();
  zoom(1.0018 ** Math.max(-300, Math.min(300, event.deltaY)), within(canvas, event)[0]);
  save();
}
for (const [kind, canvas] of Object.entries(canvases)) {
  canvas.addEventListener('pointerdown', event => pressDown(canvas, kind, event));
  canvas.addEventListener('pointermove', event => move(canvas, kind, event));
  canvas.addEventListener('pointerup', event => letGo(canvas, kind, event));
  canvas.addEventListener('pointercancel', event => { fingers.delete(event.pointerId); drag = null; });
  canvas.addEventListener('wheel', event => wheel(canvas, kind, event), {passive: false});
  canvas.addEventListener('dblclick', event => { zoom(.4, within(canvas, event)[0]); save(); });
}
scroller.addEventListener('scroll', drawSoon);

/* ---- filters --------------------------------------------------------------------------------- */

const FILTERS_MOST = 400;
function showAllClients(on) {
  view.all = on;
  const button = byId('b-clients');
  if (button) button.setAttribute('aria-pressed', on);
  drawSoon();
}
function choose(resource) {
  chosen.resource = resource;
  readAll();
  rankClients();
  placeFaults();
  const select = byId('b-res');
  if (select) select.value = String(resource);
}
function filterButton(name, title, hidden, which) {
  const button = element('button', name, title);
  button.setAttribute('aria-pressed', 'true');
  button.onclick = () => {
    if (!hidden.delete(which)) hidden.add(which);
    button.setAttribute('aria-pressed', !hidden.has(which));
    drawSoon();
  };
  return button;
}
function makeFilters() {
  const bar = byId('filter');
  if (PROCESSES.length > 6) {
    const all = element('button', `all ${PROCESSES.length} clients`);
    all.id = 'b-clients';
    all.setAttribute('aria-pressed', 'false');
    all.onclick = () => showAllClients(!view.all);
    bar.append(all);
  }
  for (const p of PROCESSES.slice(0, FILTERS_MOST)) bar.append(filterButton(clientShort(p), clientName(p), view.hiddenClients, p));
  for (const n of NODES) bar.append(filterButton(nodeShort(n), nodeName(n), view.hiddenNodes, n));
  if (META.resources.length < 2) return;
  const select = element('select');
  select.id = 'b-res';
  select.setAttribute('aria-label', 'resource');
  select.append(new Option(`all ${META.resources.length} resources`, '-1'));
  META.resources.slice(0, 1000).forEach((name, r) => select.append(new Option(clean(name), String(r))));
  select.onchange = () => { choose(+select.value); drawSoon(); save(); };
  byId('resbox').append(select);
}

/* ---- the events in view, as a table ---------------------------------------------------------- */

const TABLE_ROWS = 400;
function fillTable() {
  const first = firstAtLeast(TIME, timeAt(picture.gutter)), last = Math.min(firstAtLeast(TIME, timeAt(picture.width)), first + TABLE_ROWS);
  const body = byId('tbl'), rows = document.createDocumentFragment();
  byId('tblcap').textContent = `Events in view: ${last - first} of ${N}`;
  for (let i = first; i < last; i++) {
    const cells = element('tr'), zero = cause() ? cause().t : 0;
    for (const text of [HEADER.ours ? i + 2 : i, momentText(TIME[i]), cause() ? signed(TIME[i] - zero) : '', eventText(i)]) cells.append(element('td', text));
    rows.append(cells);
  }
  body.replaceChildren(rows);
}
byId('evd').addEventListener('toggle', () => { if (byId('evd').open) fillTable(); });

/* ---- a place to link to: #t=FROM..TO&line=N&fold&res=K&cause=N -------------------------------- */

let saving = 0;
function save() {
  clearTimeout(saving);
  saving = setTimeout(() => {
    const hash = `#t=${Math.round(timeAt(picture.gutter))}..${Math.round(timeAt(picture.width))}` +
      (view.focus >= 0 ? '&line=' + (view.focus + 2) : '') + (view.folded ? '&fold' : '') +
      (META.resources.length > 1 ? '&res=' + chosen.resource : '') + (view.cause > 0 ? '&cause=' + (view.cause + 1) : '');
    try { history.replaceState(null, '', hash); } catch (refused) { /* some viewers allow no address */ }
    if (byId('evd').open) fillTable();
  }, 200);
}
function placeOfHash() {
  const found = /^#t=(-?\d+)\.\.(-?\d+)/.exec(location.hash), number = name => {
    const one = new RegExp('&' + name + '=(-?\\d+)').exec(location.hash);
    return one ? +one[1] : null;
  };
  return {from: found ? +found[1] : null, to: found ? +found[2] : null, line: number('line'), resource: number('res'),
    cause: number('cause'), fold: /&fold(&|$)/.test(location.hash)};
}

function goToHash() {
  const place = placeOfHash();
  if (place.from === null) return false;
  view.folded = place.fold && fold.folds.length > 0;
  if (place.line >= 2 && place.line - 2 < N) view.focus = place.line - 2;
  view.from = toPlace(place.from);
  view.to = toPlace(Math.max(place.from + 1, place.to));
  return true;
}

/* ---- buttons of the words -------------------------------------------------------------------- */

document.querySelectorAll('details.cause').forEach((part, k) => {
  part.querySelectorAll('[data-step]').forEach(button => {
    button.onclick = () => {
      if (view.cause !== k) showCause(k);
      showStep(+button.dataset.step);
    };
  });
  part.querySelector('summary').onclick = event => {
    if (META.causes.length > 1 && view.cause !== k) { event.preventDefault(); showCause(k); }
  };
});
document.querySelectorAll('button[data-cause]').forEach(button => { button.onclick = () => showCause(+button.dataset.cause); });
const copy = byId('b-copy');
if (copy) {
  copy.onclick = () => {
    const command = byId('cmd').textContent, chose = () => getSelection().selectAllChildren(byId('cmd'));
    if (!navigator.clipboard) { chose(); return; }
    navigator.clipboard.writeText(command).then(() => { copy.textContent = 'copied'; }, chose);
  };
}

/* ---- start ----------------------------------------------------------------------------------- */

function begin() {
  const place = placeOfHash();
  if (place.cause > 0 && place.cause <= META.causes.length) view.cause = place.cause - 1;
  const several = META.resources.length > 1;
  chosen.resource = !several ? -1 : place.resource !== null && place.resource < META.resources.length ? place.resource : cause() ? cause().resource : -1;
  readAll();
  rankClients();
  readColours();
  placeFaults();
  makeFilters();
  if (byId('b-res')) byId('b-res').value = String(chosen.resource);
  picture.scale = Math.min(3, devicePixelRatio || 1);
  picture.width = canvases.lanes.parentNode.clientWidth;
  layOut();
  makeFolds();
  if (!META.causes.length) byId('findings').hidden = true;
  for (const id of ['b-prev', 'b-next']) byId(id).hidden = META.causes.length < 2;
  if (!goToHash()) {
    view.folded = cause() !== undefined && foldHelps;
    if (cause()) { lookAtCause(); } else { view.from = 0; view.to = limit(); }
  }
  look(view.from, view.to);
  pressed('b-fold', view.folded);
  byId('b-fold').disabled = fold.folds.length === 0;
  document.querySelectorAll('details.cause').forEach((part, k) => { part.open = k === view.cause; });
  draw();
  tell(view.focus);
  new ResizeObserver(() => {
    if (canvases.lanes.parentNode.clientWidth !== picture.width) drawSoon();
  }).observe(scroller);
  window.picklock = {loadMs: performance.now() - startedMs, events: N};
}
const redraw = () => { readColours(); draw(); };
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
addEventListener('hashchange', () => { if (goToHash()) look(view.from, view.to); });
addEventListener('beforeprint', () => {
  document.documentElement.dataset.theme = 'light';
  document.querySelectorAll('details.cause').forEach(part => { part.open = true; });
  printing = true;
  redraw();
});
addEventListener('afterprint', () => {
  delete document.documentElement.dataset.theme;
  printing = false;
  redraw();
});
begin();
