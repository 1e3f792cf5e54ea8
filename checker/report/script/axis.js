/* axis.js: from time to pixels and back: true time, or folded where nothing changes. */

const view = {from: 0, to: 1, folded: false, messages: true, all: false, cause: 0, step: -1, focus: -1, pointer: null,
  hiddenClients: new Set(), hiddenNodes: new Set()};
const picture = {width: 0, gutter: 112, height: 0};

/* A piecewise map: times[k] lies at places[k]; folds are the stretches of time that it shortens. */
let fold = {times: [0, 1], places: [0, 1], folds: []};
let foldHelps = false;

function through(a, b, x) {
  let j = firstAtLeast(a, x);
  j = j <= 0 ? 1 : j >= a.length ? a.length - 1 : j;
  const length = a[j] - a[j - 1];
  return b[j - 1] + (length > 0 ? (x - a[j - 1]) / length * (b[j] - b[j - 1]) : 0);
}
const beyond = (a, b, x) => x >= a[a.length - 1] ? b[b.length - 1] + (x - a[a.length - 1]) : through(a, b, x);
const toPlace = time => view.folded ? beyond(fold.times, fold.places, time) : time;
const toTime = place => view.folded ? beyond(fold.places, fold.times, place) : place;

const inner = () => picture.width - picture.gutter;
const xOf = time => time === NEVER ? picture.width + 60 :
  picture.gutter + (toPlace(time) - view.from) / (view.to - view.from) * inner();
const timeAt = x => toTime(view.from + (x - picture.gutter) / inner() * (view.to - view.from));
const limit = () => toPlace(LAST) * 1.03 + 1;

function look(from, to) {
  const most = limit(), size = Math.max(50, Math.min(to - from, most * 1.04));
  view.from = Math.max(-most * .02, Math.min(from, most * 1.02 - size));
  view.to = view.from + size;
  drawSoon();
}
const lookAtTimes = (from, to) => look(toPlace(Math.max(0, from)), toPlace(to));
function zoom(factor, x) {
  const place = view.from + ((x === undefined ? (picture.gutter + picture.width) / 2 : x) - picture.gutter) / inner() *
    (view.to - view.from);
  look(place - (place - view.from) * factor, place + (view.to - place) * factor);
}
function pan(part) {
  const by = (view.to - view.from) * part;
  look(view.from + by, view.to + by);
}
/* The whole story of the cause, and a little more to both sides. */
function lookAtCause() {
  const from = toPlace(cause().from), to = toPlace(cause().to), margin = (to - from) * .04;
  look(Math.max(0, from - margin), to + 2.4 * margin);
}

/* ---- folding --------------------------------------------------------------------------------- */

/* Moments at which the state changes: of a long run those near the story. */
function busyMoments() {
  const long = N > 1e5, told = cause(), times = [];
  if (long && !told) return times;
  const span = told ? told.to - told.from : 0;
  const first = long ? firstAtLeast(TIME, told.from - span) : 0;
  const last = long ? firstAtLeast(TIME, told.to + span) : N;
  for (let i = first; i < last; i++) {
    if (SHAPES[SHAPE[i]].busy && TIME[i] !== times[times.length - 1]) times.push(TIME[i]);
  }
  return times;
}

function foldAbove(times, longest, from, to) {
  const gaps = [];
  let whole = 0, last = times.length > 0 && N > 1e5 ? times[0] : 0;
  for (const time of times) {
    if (time - last > longest) gaps.push([last, time]);
    else if (time <= to && time >= from) whole += time - last;
    last = time;
  }
  const near = gaps.filter(gap => gap[0] < to && gap[1] > from).length;
  const width = Math.max(whole, 1e3) * .3 / Math.max(1, Math.min(3, near));
  const margin = Math.min(longest * .25, width * .25);
  const map = {times: [0], places: [0], folds: []};
  let place = 0;
  last = 0;
  const mark = (time, at) => { map.times.push(time); map.places.push(at); };
  for (const [begin, end] of gaps) {
    place += begin + margin - last;
    mark(begin + margin, place);
    place += width;
    mark(end - margin, place);
    map.folds.push([begin + margin, end - margin]);
    last = end - margin;
  }
  mark(LAST, place + LAST - last);
  return map;
}

/* Fold where that sets more of the evidence apart; at most five folds in the story. */
function makeFolds() {
  const told = cause(), from = told ? told.from : 0, to = told ? told.to : LAST, span = Math.max(to - from, 1e3);
  const times = busyMoments(), moments = told ? [...new Set(told.steps.map(step => step.t))].sort((a, b) => a - b) : [];
  const apart = map => {
    const at = moments.map(time => through(map.times, map.places, time));
    const whole = (through(map.times, map.places, to) - through(map.times, map.places, from)) * 1.15;
    return at.filter((place, j) => j > 0 && (place - at[j - 1]) / whole > .03).length;
  };
  const straight = {times: [0, LAST], places: [0, LAST], folds: []}, plain = apart(straight);
  let best = null, most = plain;
  for (const part of [.05, .02, .01, .005, .002]) {
    const map = foldAbove(times, span * part, from, to), count = apart(map);
    const inside = map.folds.filter(gap => gap[0] < to && gap[1] > from).length;
    if (count > most && inside <= 5) { best = map; most = count; }
  }
  foldHelps = best !== null;
  fold = best || foldAbove(times, span * .05, from, to);
}

function setFolded(on) {
  const from = timeAt(picture.gutter), to = timeAt(picture.width);
  view.folded = on && fold.folds.length > 0;
  lookAtTimes(from, to);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map(m => m * power).find(step => step >= raw) || raw;
}
function tickText(time, step) {
  const digits = (scale, most) => Math.max(0, Math.min(most, -Math.floor(Math.log10(step / scale) + 1e-9)));
  const size = Math.max(time, step);
  if (size >= 1e9) return (time / 1e9).toFixed(digits(1e9, 9)) + '\u202fs';
  if (size >= 1e6) return (time / 1e6).toFixed(digits(1e6, 6)) + '\u202fms';
  if (size >= 1e3) return (time / 1e3).toFixed(digits(1e3, 3)) + '\u202f\u00b5s';
  return Math.round(time) + '\u202fns';
}
/* {x, text, fold}: a fold's stands in its middle. */
function ticks() {
  const out = [], from = Math.max(0, timeAt(picture.gutter)), to = timeAt(picture.width);
  const step = niceStep((view.to - view.from) / inner() * 100), pieces = [];
  let begin = from;
  for (const [start, end] of view.folded ? fold.folds : []) {
    if (end < from || start > to) continue;
    pieces.push([begin, start]);
    out.push({x: (xOf(start) + xOf(end)) / 2, text: '\u2026 ' + lengthText(end - start) + ' \u2026', fold: true});
    begin = end;
  }
  pieces.push([begin, to]);
  for (const [a, b] of pieces) {
    for (let t = Math.ceil(a / step) * step; t <= b && out.length < 80; t += step) {
      out.push({x: xOf(t), text: tickText(t, step), fold: false});
    }
  }
  return out.sort((p, q) => p.x - q.x);
}
