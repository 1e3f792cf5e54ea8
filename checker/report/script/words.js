/* words.js: an event, a fault, a length of time, in words. */

/* Text from a history is shown, never obeyed: what a page would reorder or hide is spelled out. */
const clean = text => String(text).replace(
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
  c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

const units = text => clean(text).replace(/(\d) (ns|us|ms|s)(?=[ ,.:;)]|$)/g,
  (_, digit, unit) => digit + '\u202f' + (unit === 'us' ? '\u00b5s' : unit));

/* Four digits that count. */
function lengthText(ns) {
  const size = Math.abs(ns), sign = ns < 0 ? '\u2212' : '';
  const [scale, unit] = size >= 1e9 ? [1e9, 's'] : size >= 1e6 ? [1e6, 'ms'] : size >= 1e3 ? [1e3, '\u00b5s'] : [1, 'ns'];
  return sign + +(size / scale).toPrecision(4) + '\u202f' + unit;
}
const signed = ns => (ns < 0 ? '' : '+') + lengthText(ns);

/* To a microsecond, as moment_print does in base/duration.c: "59.190 ms", "4.948 s". */
function momentText(ns) {
  const size = Math.abs(ns), seconds = size >= 1e9;
  let number = Math.floor(size / 1e3), unit = seconds ? 1e6 : 1e3, digits = seconds ? 6 : 3;
  while (digits > 0 && number % 1000 === 0) {
    number /= 1000;
    unit /= 1000;
    digits -= 3;
  }
  const rest = digits > 0 ? '.' + String(number % unit).padStart(digits, '0') : '';
  return (ns < 0 ? '\u2212' : '') + Math.floor(number / unit) + rest + '\u202f' + (seconds ? 's' : 'ms');
}

const cause = () => META.causes[view.cause];
function fromViolation(ns) {
  if (!cause()) return '';
  const zero = cause().t;
  return ns === zero ? 'at the violation' :
    lengthText(Math.abs(ns - zero)) + (ns < zero ? ' before the violation' : ' after the violation');
}

/* ---- names ----------------------------------------------------------------------------------- */

const AUDITOR = HEADER.clients > 0 ? HEADER.clients : -2;
const FIRST = HEADER.ours ? 1 : 0;
const isAuditor = process => process === AUDITOR;
const clientName = process => process < 0 ? 'somebody' : isAuditor(process) ? 'the auditor' :
  (HEADER.ours ? 'client ' : 'process ') + (process + FIRST);
const clientShort = process => isAuditor(process) ? 'audit' : (HEADER.ours ? 'C' : 'P') + (process + FIRST);
/* Where nodes are one service, its keys are no node's: they have a lane of their own. */
const CLUSTER = -2, keeperOf = node => HEADER.cluster && node >= 0 ? CLUSTER : node;
const nodeName = node => node === CLUSTER ? 'cluster' : 'node ' + (node + 1);
const nodeShort = node => node === CLUSTER ? 'all' : 'N' + (node + 1);
const resourceName = resource => clean(META.resources[resource]);
const lineOf = i => (HEADER.ours ? 'line ' : 'event ') + (HEADER.ours ? i + 2 : i);
const valueText = value => value < 0 ? '' :
  [0, 1, 2].map(k => VALUES[3 * value + k].toString(16).padStart(2, '0')).join('');

/* ---- faults ---------------------------------------------------------------------------------- */

const FAULT_WORDS = {pause: 'paused', kill: 'killed', slow: 'slowed', clock_jump: 'clock jumps', clock_rate: 'clock rate',
  crash: 'crash', power_loss: 'power loss', shutdown: 'shutdown', stall: 'stalled', refuse_writes: 'refuses writes',
  script_flush: 'scripts flushed', evict: 'evicts', failover: 'failover', latency: 'latency', partition: 'partition',
  lose_reply: 'replies lost', delay_command: 'command delayed'};
const LINKS = ['partition', 'latency', 'lose_reply', 'delay_command'];
const MODES = ['hold', 'drop', 'refuse', 'reset'], REFUSALS = ['OOM', 'READONLY', 'LOADING', 'WRONGTYPE', 'GARBLED'];
const LONGEST = 2 ** 52;

/* "1-3, 5" */
function ranges(numbers) {
  const out = [];
  for (let i = 0; i < numbers.length;) {
    let j = i;
    while (j + 1 < numbers.length && numbers[j + 1] === numbers[j] + 1) j++;
    out.push(i === j ? numbers[i] : numbers[i] + '-' + numbers[j]);
    i = j + 1;
  }
  return out.join(', ');
}

const clientsOf = fault => fault.clients ? [fault.clients[0], fault.clients[1]] :
  fault.process >= 0 ? [fault.process, fault.process] : null;
const nodesOf = fault => fault.nodes || (fault.node >= 0 ? [fault.node] : []);

const nodesText = nodes => (nodes.length > 1 ? 'nodes ' : 'node ') + ranges(nodes.map(n => n + 1));

function faultTarget(fault) {
  const clients = clientsOf(fault), nodes = nodesOf(fault), out = fault.peers ? [nodesText(fault.peers)] : [];
  if (clients) {
    out.push(clients[0] === clients[1] ? clientName(clients[0]) :
      'clients ' + (clients[0] + FIRST) + '-' + (clients[1] + FIRST));
  }
  if (nodes.length) out.push(nodesText(nodes));
  return out.join(' | ');
}

function faultText(fault) {
  const {kind, asked, seen} = fault, plural = n => n + (n === 1 ? ' key' : ' keys');
  let more = '';
  if (kind === 'pause') more = fault.end < NEVER ? ' ' + lengthText(fault.end - fault.start) : ' to the end';
  else if (kind === 'clock_jump') more = ' ' + signed(seen || asked);
  else if (kind === 'clock_rate') more = ' \u00d7' + asked / 1e6;
  else if (['crash', 'power_loss', 'shutdown', 'failover'].includes(kind)) more = seen ? ', ' + plural(seen) + ' lost' : ', no key lost';
  else if (kind === 'evict') more = ' ' + plural(seen);
  else if (kind === 'refuse_writes') more = ' (' + (REFUSALS[asked] || '') + ')';
  else if (kind === 'partition') more = (fault.links ? ' ' + clean(fault.links) : '') + ' (' + (MODES[asked] || '') + (seen ? ', ' + seen + ' struck)' : ')');
  else if (['latency', 'delay_command', 'slow'].includes(kind)) more = asked < LONGEST ? ' ' + lengthText(asked) + (seen ? ', ' + seen + ' late' : '') : ' until told';
  const target = faultTarget(fault), word = FAULT_WORDS[kind] || clean(kind);
  if (LINKS.includes(kind)) return word + (target ? ' ' + target : '') + more;
  return (target ? target + ' ' : '') + word + more;
}

/* ---- events ---------------------------------------------------------------------------------- */

function operationText(event, who, because) {
  const {f, type} = event.shape, name = resourceName(event.resource);
  const fence = event.fence ? ', fence ' + event.fence : '';
  const value = event.value >= 0 ? ' [' + valueText(event.value) + ']' : '';
  if (type === 'invoke') return `${who} asks to ${f} ${name}`;
  if (type !== 'ok') {
    const by = f === 'write' || f === 'read' ? ' by the store' : '';
    return `${who}\u2019s ${f} of ${name}: ${type === 'fail' ? 'refused' + by : 'outcome unknown'}${because}`;
  }
  const until = isNaN(event.until) ? '' :
    event.until <= event.time ? `, promised until ${momentText(event.until)}: ${lengthText(event.time - event.until)} ago` :
      `, promised until ${momentText(event.until)} (${lengthText(event.until - event.time)})`;
  if (f === 'acquire') return `${who} is granted ${name}${value}${until}${fence}`;
  if (f === 'extend') return `${who}\u2019s lease of ${name} is extended${until}`;
  if (f === 'release') return `${who} has released ${name}`;
  if (f === 'write') return `${who} writes version ${event.version} of ${name}, having read version ${event.basis}${fence}`;
  if (f === 'read') return `${who} reads version ${event.version} of ${name}`;
  return `${who}: ${f} of ${name} done`;
}

function nodeText(event, who, because) {
  const {f, cause: why} = event.shape, keeper = keeperOf(event.node), node = (keeper === CLUSTER ? 'the ' : '') + nodeName(keeper), name = resourceName(event.resource);
  const value = event.value >= 0 ? ' [' + valueText(event.value) + ']' : '';
  const owner = event.owner < 0 ? '' : ' [' + valueText(event.owner) + ']';
  const held = event.owner >= 0 && BROUGHT[event.owner] >= 0 ? clientName(BROUGHT[event.owner]) + '\u2019s key' + owner : 'the key' + owner;
  const way = isNaN(event.sent) ? '' : ` (sent ${lengthText(event.time - event.sent)} before, ` +
    (isNaN(event.replied) ? 'never answered)' : `answered ${lengthText(event.replied - event.time)} later)`);
  if (f === 'set') return `${node} sets the key of ${name} for ${who}${value}` + (isNaN(event.until) ? ', without expiry' : `, to expire at ${momentText(event.until)}`) + way;
  if (f === 'refused') return `${node} refuses ${who}${value}: ${held} is there${way}`;
  if (f === 'extended') return `${node} extends ${held} for ${who}${way}`;
  if (f === 'deleted') return `${node} deletes ${held}${event.process >= 0 ? ', asked by ' + who : ''}${because}${way}`;
  if (f === 'kept') return `${node} keeps what it has: ${who} named${value || ' another key'}, found ${event.owner >= 0 ? held : 'no key'}${way}`;
  if (f === 'expired') return `on ${node} ${held} expires: ${why === 'ttl' ? 'its time is up' : clean(why)}`;
  if (f === 'key-lost' || f === 'evicted') return `${node} has lost ${held}${because}`;
  if (f === 'key-back') return `${node} has ${held} again`;
  return `${node}: ${clean(f)}${event.process >= 0 ? ', for ' + who : ''}${because}${way}`;
}

function eventText(i) {
  const event = eventAt(i), {kind, f} = event.shape, who = clientName(event.process);
  const because = event.shape.cause ? ` (${clean(event.shape.cause)})` : '';
  if (kind === 'op') return operationText(event, who, because);
  if (kind === 'node') return nodeText(event, who, because);
  if (kind === 'section') return `${who} ${f === 'enter' ? 'enters' : 'leaves'} the section of ${resourceName(event.resource)}`;
  if (kind === 'notice') return `${who} is told that it lost ${resourceName(event.resource)}${because}`;
  if (kind === 'lease') return `${who}\u2019s ${event.fault < 0 ? `lease was renewed, until ${momentText(event.until)}` : `promised end moves to ${momentText(event.until)}: its clock moved`}`;
  if (kind === 'client') return `${who} ${{started: 'starts', done: 'is done', killed: 'is killed'}[f] || clean(f)}`;
  if (kind === 'phase') return f === 'healed' ? 'all faults are healed' : 'the run ends' + because;
  if (kind === 'late') return `the recorder stood still for ${lengthText(event.asked)}${because}`;
  const fault = FAULTS.find(one => one.number === event.fault && one.start <= event.time && one.end >= event.time);
  const turn = {start: 'begins', effect: 'shows its effect', end: 'ends'}[f];
  return `fault ${event.fault + 1}: ${fault ? faultText(fault) : clean(event.shape.fault)} ${turn}`;
}
