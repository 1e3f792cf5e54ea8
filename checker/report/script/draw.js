/* draw.js: one frame: axis with its evidence, lanes, the violation, the overview. */

const canvases = {axis: byId('ax'), lanes: byId('ln'), overview: byId('ov')};
const scroller = byId('scroll'), space = byId('space');
const OVERVIEW = 40;
let printing = false, pending = false;
const axisHeight = () => cause() && cause().steps.length ? 72 : 30;

function prepare(canvas, height) {
  const {width, scale} = picture;
  canvas.style.height = height + 'px';
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const c = canvas.getContext('2d');
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.fillStyle = colour.bg;
  c.fillRect(0, 0, width, height);
  return c;
}

function drawSoon() {
  if (!pending) {
    pending = true;
    requestAnimationFrame(() => { pending = false; draw(); });
  }
}

/* More lanes than a screen holds scroll inside of the picture; only those in view are drawn. */
function visiblePart() {
  const most = printing ? 12000 : Math.max(520, Math.round(innerHeight * .8));
  const height = picture.height > Math.max(1400, most) ? most : picture.height;
  space.style.height = picture.height + 'px';
  scroller.style.height = height + 'px';
  return {top: Math.min(scroller.scrollTop, Math.max(0, picture.height - height)), height};
}

function badge(c, x, y, number, bad) {
  c.beginPath();
  c.arc(x, y, 9, 0, 7);
  c.fillStyle = bad ? colour.fail : colour.ink;
  c.fill();
  c.lineWidth = 1.5;
  c.strokeStyle = colour.bg;
  c.stroke();
  c.lineWidth = 1;
  write(c, String(number), x, y + .5, colour.bg, {size: 11, weight: 'bold', align: 'center'});
}

/* ---- lanes ----------------------------------------------------------------------------------- */

function drawGrounds(c, axis, marks) {
  for (const lane of lanes) {
    if (lane.kind !== 'more') { c.fillStyle = colour.lane; c.fillRect(picture.gutter, lane.y + 1, inner(), lane.h - 2); }
  }
  for (const mark of marks) {
    if (!mark.fold && mark.x >= picture.gutter) line(c, colour.grid, 1, [[mark.x + .5, 0], [mark.x + .5, picture.height]]);
  }
  for (const [start, end] of view.folded ? fold.folds : []) {
    const from = Math.max(picture.gutter, xOf(start)), to = xOf(end);
    if (to < picture.gutter || from > picture.width) continue;
    for (const [part, top, height] of [[c, 0, picture.height], [axis, axisHeight() - 20, 20]]) {
      part.fillStyle = colour.panel;
      part.fillRect(from, top, to - from, height);
      line(part, colour.line, 1, [[from, top], [from, top + height]], [2, 3]);
      line(part, colour.line, 1, [[to, top], [to, top + height]], [2, 3]);
    }
  }
  let until = -1;
  for (const late of LATE) {
    const from = Math.max(until, xOf(late.from)), to = Math.max(from + 2, xOf(late.to));
    if (xOf(late.to) <= until || to < picture.gutter || from > picture.width) continue;
    until = to; /* where several stood still it is drawn once */
    c.fillStyle = colour.unknown;
    c.globalAlpha = .05;
    c.fillRect(from, 0, to - from, picture.height);
    c.globalAlpha = .45;
    c.fillRect(from, 0, to - from, 4);
    c.globalAlpha = 1;
    hit(from, 0, to - from, picture.height, late.i, -1);
  }
}

function drawLane(c, lane) {
  if (lane.kind === 'faults') drawFaults(c, lane);
  else if (lane.kind === 'store') drawStore(c, lane);
  else if (lane.kind === 'client') drawClient(c, lane);
  else if (lane.kind === 'node') drawNode(c, lane);
  else if (lane.kind === 'unwatched') {
    c.fillStyle = hatch(c, colour.line, 6);
    c.fillRect(picture.gutter, lane.y + 2, inner(), lane.h - 4);
    plate(c, 'not recorded: ' + clean(HEADER.unwatched), picture.gutter + 10, lane.y + lane.h / 2, colour.unknown, {size: 11});
  }
}

/* The box of the violation and its words: placed before the lanes, whose words keep clear of it. */
function placeViolation(c) {
  if (!cause()) return null;
  const {p, n, from, to, label} = cause().box, ends = [p[0], p[1] < 0 ? p[0] : p[1]].map(one => laneOf('client', one));
  const first = ends[0] && ends[1] ? ends : [laneOf('node', keeperOf(n)), laneOf('node', keeperOf(n))];
  if (!first[0]) return null;
  const y = Math.min(first[0].y, first[1].y), bottom = Math.max(...first.map(lane => lane.y + lane.h));
  const x = xOf(from), width = Math.max(3, xOf(to) - x);
  const text = units(label), style = {size: 12, weight: '700'}, long = widthOf(c, text, style);
  const low = first[0] === first[1] ? y - 5 : Math.max(first[0].y, first[1].y);
  const before = first[0] !== first[1] && x - long - 32 >= picture.gutter, left = before ? x - long - 10 : Math.min(x + 8, picture.width - long - 8);
  const seen = text && x < picture.width && x + width > picture.gutter;
  if (seen) claim(left - 5, low, long + 10, 20);
  return {x, y, width, bottom, left, low, long, style, text: seen ? text : ''};
}

function drawViolation(c, box) {
  if (box) {
    c.fillStyle = colour.fail;
    c.globalAlpha = .12;
    c.fillRect(box.x, box.y, box.width, box.bottom - box.y);
    c.globalAlpha = 1;
    frame(c, colour.fail, box.x, box.y + 1, box.width, box.bottom - box.y - 2, {weight: 2});
    c.fillStyle = colour.fail;
    if (box.text) c.fillRect(box.left - 5, box.low - 9, box.long + 10, 18);
    write(c, box.text, box.left, box.low + .5, colour.bg, box.style);
  }
  if (!cause()) return;
  const x = xOf(cause().t);
  line(c, colour.fail, 1, [[x + .5, 0], [x + .5, picture.height]], [5, 3]);
}

function lanesOfStep(step) {
  const out = [];
  if (step.store) out.push(laneOf('store'));
  else if (step.p >= 0) out.push(laneOf('client', step.p));
  const ofKeys = SHAPES[SHAPE[step.i]].kind === 'node';
  for (const n of new Set(ofKeys ? step.nodes.map(keeperOf) : step.nodes)) out.push(laneOf('node', n));
  if (!out.some(Boolean) && SHAPES[SHAPE[step.i]].kind === 'fault') out.push(laneOf('faults'));
  return out.filter(Boolean);
}

function placeEvidence() {
  const placed = [];
  (cause() ? cause().steps : []).forEach((step, j) => {
    for (const lane of lanesOfStep(step)) {
      const centre = lane.kind === 'node' ? lane.h / 2 : lane.kind === 'store' ? 11 : lane.kind === 'client' ? lane.h / 2 - 4 : lane.h / 2;
      let x = xOf(step.t), tries = 0;
      const y = lane.y + centre;
      if (lane.kind !== 'store') x += x - 16 < picture.gutter + 4 ? 15 : -15;
      while (inTheWay(x - 9, y, 18, 18) && tries++ < 12) x += 19;
      claim(x - 9, y, 18, 18);
      placed.push({x, y, number: j + 1, step});
    }
  });
  return placed;
}

function drawEvidence(c, placed) {
  for (const {x, y, number, step} of placed) {
    if (x <= picture.gutter - 9 || x >= picture.width + 9) continue;
    badge(c, x, y, number, step.bad);
    hit(x - 9, y - 9, 18, 18, step.i, 9);
  }
}

function drawGutter(c, top, height) {
  c.fillStyle = colour.bg;
  c.fillRect(0, top, picture.gutter, height);
  line(c, colour.line, 1, [[picture.gutter - .5, top], [picture.gutter - .5, top + height]]);
  const involved = involvedNow(), wide = picture.gutter > 60;
  for (const lane of lanes) {
    const y = lane.kind === 'more' || lane.kind === 'faults' ? lane.y + 11 : lane.y + Math.min(lane.h / 2, 16);
    if (lane.kind === 'client') {
      const bar = Math.max(8, Math.min(lane.h - 14, 22));
      c.fillStyle = colourOf(lane.p);
      c.fillRect(6, y - bar / 2, 5, bar);
    }
    const plain = ['client', 'node', 'store'].includes(lane.kind);
    write(c, fitted(c, lane.name, picture.gutter - (lane.kind === 'client' || lane.kind === 'node' ? 18 : 8), {size: wide ? 13 : 12}), lane.kind === 'client' || lane.kind === 'node' ? 17 : 8, y, plain ? colour.ink : colour.muted,
      {size: wide ? 13 : 12, weight: lane.kind === 'client' && involved.includes(lane.p) ? '600' : ''});
  }
}

/* ---- the axis, and what stands over it ------------------------------------------------------- */

/* One or two rows, in order of time, each label as near to its moment as there is room. */
function placeLabels(c, labels) {
  const place = row => {
    let right = picture.gutter, cost = 0;
    for (const label of row) { label.left = Math.max(right, label.x - 10); right = label.left + label.width; }
    right = picture.width - 4;
    for (let k = row.length - 1; k >= 0; k--) {
      row[k].left = Math.min(row[k].left, right - row[k].width);
      right = row[k].left;
      cost += Math.abs(row[k].left - (row[k].x - 10)) + (row[k].left < picture.gutter ? 1e5 : 0);
    }
    return cost;
  };
  let best = null;
  for (let cut = 0; cut <= labels.length; cut++) {
    const both = cut > 0 && cut < labels.length;
    const near = place(labels.slice(0, cut)) + place(labels.slice(cut)) + (both ? 40 : 0);
    const crossed = both && Math.max(...labels.slice(0, cut).map(label => label.left)) > labels[cut].left;
    const cost = near + (crossed ? 1e5 : 0); /* a leader through another's words */
    if (best === null || cost < best.cost) best = {cost, cut};
  }
  if (best && best.cost < 9e4) {
    place(labels.slice(0, best.cut));
    place(labels.slice(best.cut));
    labels.forEach((label, k) => { label.row = best.cut === 0 || k >= best.cut ? 1 : best.cut === labels.length ? 1 : 0; });
    return;
  }
  for (const label of labels) { label.width = 21; label.text = ''; label.row = 1; }
  place(labels);
}

function drawLabels(c) {
  const bottom = axisHeight(), labels = (cause() ? cause().steps : [])
    .map((step, j) => ({number: j + 1, bad: step.bad, x: xOf(step.t), text: units(step.label)}))
    .filter(label => label.x >= picture.gutter - 2 && label.x <= picture.width + 2);
  for (const label of labels) label.width = widthOf(c, label.text, {size: 12, weight: '600'}) + 30;
  placeLabels(c, labels);
  for (const label of labels) {
    const y = label.row * 19 + 11;
    line(c, label.bad ? colour.fail : colour.muted, 1, [[label.x, bottom - 1], [label.x, bottom - 22], [label.left + 9, bottom - 30], [label.left + 9, y]]);
  }
  for (const label of labels) {
    const y = label.row * 19 + 11;
    if (label.text) { c.fillStyle = colour.bg; c.fillRect(label.left, y - 9, label.width - 4, 18); }
    badge(c, label.left + 9, y, label.number, label.bad);
    if (label.text) write(c, label.text, label.left + 22, y + .5, label.bad ? colour.fail : colour.ink, {size: 12, weight: '600'});
  }
}

function drawAxis(c, marks) {
  const bottom = axisHeight(), wide = picture.gutter > 60;
  const leaders = cause() ? cause().steps.map(step => xOf(step.t)) : [], folds = [];
  let taken = -1e9;
  line(c, colour.line, 1, [[0, bottom - .5], [picture.width, bottom - .5]]);
  for (const mark of marks) {
    const long = widthOf(c, mark.text);
    if (mark.fold) {
      if (mark.x - long / 2 > Math.max(picture.gutter, taken) && mark.x + long / 2 < picture.width) {
        folds.push({text: mark.text, x: mark.x, long});
        taken = mark.x + long / 2 + 6;
      }
      continue;
    }
    if (mark.x < picture.gutter - 1 || mark.x > picture.width) continue;
    line(c, colour.line, 1, [[mark.x + .5, bottom - 6], [mark.x + .5, bottom]]);
    const crossed = leaders.some(x => x > mark.x + 1 && x < mark.x + long + 5);
    if (mark.x + 3 + long < picture.width && mark.x > taken && !crossed) {
      write(c, mark.text, mark.x + 3, bottom - 11, colour.muted);
      taken = mark.x + long + 8;
    }
  }
  drawLabels(c);
  for (const {text, x, long} of folds) {
    c.fillStyle = colour.panel;
    c.fillRect(x - long / 2 - 2, bottom - 17, long + 4, 14);
    write(c, text, x, bottom - 10, colour.muted, {align: 'center', style: 'italic'});
  }
  c.fillStyle = colour.bg;
  c.fillRect(0, 0, picture.gutter - 1, bottom - 1);
  write(c, view.folded ? (wide ? 'time (folded)' : 'folded') : 'time', 8, bottom - 11, colour.muted, {size: 12});
  if (bottom > 40 && wide) write(c, 'evidence', 8, 12, colour.muted, {size: 12});
}

/* ---- the whole run --------------------------------------------------------------------------- */

/* Who held it: a bar each while that can be seen, else the share of time that anybody did. */
function drawHolders(c) {
  const clients = PROCESSES.filter(p => LAYERS['lease' + p]), top = 11, height = OVERVIEW - 15;
  const total = clients.reduce((sum, p) => sum + LAYERS['lease' + p].count, 0);
  if (total > 2 * picture.width) {
    const leases = clients.filter(p => !isAuditor(p)).map(p => LAYERS['lease' + p]);
    let before = leases.map(bars => bars.covered(timeAt(picture.gutter)));
    c.fillStyle = colour.muted;
    c.globalAlpha = .6;
    for (let x = picture.gutter; x < picture.width && timeAt(x) <= LAST; x += 2) {
      const right = timeAt(x + 2), after = leases.map(bars => bars.covered(right));
      const held = after.reduce((sum, cover, k) => sum + cover - before[k], 0) / (right - timeAt(x));
      c.fillRect(x, OVERVIEW - 4 - height * Math.min(1, held), 2, height * Math.min(1, held));
      before = after;
    }
    c.globalAlpha = 1;
    return;
  }
  const few = clients.length <= 3;
  clients.forEach((p, k) => {
    const bars = LAYERS['lease' + p];
    c.fillStyle = colourOf(p);
    c.globalAlpha = .65;
    for (let j = 0; j < bars.count; j++) {
      const from = xOf(bars.start[j]), to = xOf(Math.min(bars.end[j], LAST));
      c.fillRect(from, few ? top + k * height / clients.length : top, Math.max(1, to - from), few ? height / clients.length - 1 : height);
    }
    c.globalAlpha = 1;
  });
}

function drawOverview() {
  const c = prepare(canvases.overview, OVERVIEW), {from, to} = view;
  view.from = 0;
  view.to = limit();
  for (const fault of FAULTS) {
    const x = xOf(fault.start);
    c.fillStyle = hatch(c, colour.hatch, 6);
    c.globalAlpha = .6;
    c.fillRect(x, 2, Math.max(2, xOf(Math.min(fault.end, LAST)) - x), 7);
    c.globalAlpha = 1;
  }
  drawHolders(c);
  META.causes.forEach((told, k) => {
    const x = xOf(told.t);
    c.fillStyle = colour.fail;
    c.fillRect(x - 1, 2, 2, OVERVIEW - 4);
    c.beginPath();
    c.moveTo(x - 5, 0);
    c.lineTo(x + 5, 0);
    c.lineTo(x, 8);
    c.fill();
  });
  const left = xOf(toTime(from)), right = xOf(toTime(to));
  view.from = from;
  view.to = to;
  c.fillStyle = colour.ink;
  c.globalAlpha = .09;
  c.fillRect(picture.gutter, 0, Math.max(0, left - picture.gutter), OVERVIEW);
  c.fillRect(right, 0, picture.width - right, OVERVIEW);
  c.globalAlpha = 1;
  const x = Math.max(picture.gutter, left);
  frame(c, colour.focus, x, 0, Math.max(5, Math.min(picture.width, right) - x), OVERVIEW, {weight: 2});
  c.fillStyle = colour.bg;
  c.fillRect(0, 0, picture.gutter - 1, OVERVIEW);
  write(c, picture.gutter > 60 ? 'whole run' : 'run', 8, OVERVIEW / 2, colour.muted, {size: 12});
}

/* ---- a frame --------------------------------------------------------------------------------- */

function drawMarks(c) {
  if (view.focus >= 0) {
    const lane = laneOfEvent(view.focus);
    if (lane) {
      c.beginPath();
      c.arc(xOf(TIME[view.focus]), lane.y + lane.h / 2, 13, 0, 7);
      c.strokeStyle = colour.focus;
      c.lineWidth = 2.5;
      c.stroke();
      c.lineWidth = 1;
    }
  }
  if (view.pointer !== null) {
    c.globalAlpha = .5;
    line(c, colour.muted, 1, [[view.pointer + .5, 0], [view.pointer + .5, picture.height]]);
    c.globalAlpha = 1;
  }
}

function draw() {
  picture.scale = printing ? 3 : Math.min(3, devicePixelRatio || 1);
  picture.width = canvases.lanes.parentNode.clientWidth;
  layOut();
  const part = visiblePart(), c = prepare(canvases.lanes, part.height), axis = prepare(canvases.axis, axisHeight()), marks = ticks();
  hits = [];
  worded = [];
  const box = placeViolation(c), evidence = placeEvidence();
  c.translate(0, -part.top);
  c.save();
  c.beginPath();
  c.rect(picture.gutter, part.top, inner(), part.height);
  c.clip();
  drawGrounds(c, axis, marks);
  drawFaultGrounds(c);
  const messages = drawMessages(c, timeAt(picture.gutter), timeAt(picture.width));
  for (const lane of lanes) if (lane.y + lane.h >= part.top && lane.y <= part.top + part.height) drawLane(c, lane);
  drawViolation(c, box);
  drawEvidence(c, evidence);
  drawMarks(c);
  c.restore();
  drawGutter(c, part.top, part.height);
  drawAxis(axis, marks);
  drawOverview();
  byId('zoomsay').textContent = `window ${lengthText(timeAt(picture.width) - Math.max(0, timeAt(picture.gutter)))}, run ${lengthText(LAST)}` +
    (messages === 'too many' ? ' \u00b7 zoom in for messages' : '');
  byId('pos').textContent = META.causes.length ? `${view.cause + 1} of ${META.causes.length}` : '';
}
