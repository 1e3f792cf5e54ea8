/* pen.js: words, lines and frames on a canvas, and where there is room for words. */

const FONT = 'system-ui,-apple-system,"Segoe UI",sans-serif';
function write(c, text, x, y, ink, {size = 11, weight = '', align = 'left', style = ''} = {}) {
  c.font = `${style} ${weight} ${size}px ${FONT}`;
  c.fillStyle = ink;
  c.textAlign = align;
  c.textBaseline = 'middle';
  c.fillText(text, x, y);
}
function widthOf(c, text, {size = 11, weight = ''} = {}) {
  c.font = `${weight} ${size}px ${FONT}`;
  return c.measureText(text).width;
}
/* As much of a text as has room; "" if that is too little to be read. */
const LEAST_WORD = 22;
function fitted(c, text, width, style = {}) {
  if (width < LEAST_WORD) return '';
  if (widthOf(c, text, style) <= width) return text;
  while (text.length > 1 && widthOf(c, text + '\u2026', style) > width) text = text.slice(0, -1);
  const whole = text.replace(/[\s\d.,]+$/, ''); /* never half a number */
  return whole.length > 2 ? whole + '\u2026' : '';
}
/* Words over something: on a ground of their own. */
function plate(c, text, x, y, ink, style = {}, ground = colour.bg) {
  const width = widthOf(c, text, style), height = (style.size || 11) + 3;
  c.globalAlpha = .86;
  c.fillStyle = ground;
  c.fillRect(x - 3, y - height / 2 - .5, width + 6, height);
  c.globalAlpha = 1;
  write(c, text, x, y, ink, style);
  return width + 6;
}
function line(c, ink, width, points, dash) {
  c.strokeStyle = ink;
  c.lineWidth = width;
  if (dash) c.setLineDash(dash);
  c.beginPath();
  points.forEach(([x, y], k) => k === 0 ? c.moveTo(x, y) : c.lineTo(x, y));
  c.stroke();
  if (dash) c.setLineDash([]);
  c.lineWidth = 1;
}
function frame(c, ink, x, y, width, height, {weight = 1, dash} = {}) {
  c.strokeStyle = ink;
  c.lineWidth = weight;
  if (dash) c.setLineDash(dash);
  c.strokeRect(x + .5, y + .5, Math.max(0, width - 1), height - 1);
  if (dash) c.setLineDash([]);
  c.lineWidth = 1;
}
const cross = (c, ink, x, y, size, weight = 2) => {
  line(c, ink, weight, [[x - size, y - size], [x + size, y + size]]);
  line(c, ink, weight, [[x + size, y - size], [x - size, y + size]]);
};

/* Where words stand in this frame: no two of them touch. */
let worded = [];
const inTheWay = (left, y, width, height) => worded.find(one => left < one.right && left + width > one.left &&
  y - height / 2 < one.bottom && y + height / 2 > one.top);
function claim(left, y, width, height) {
  worded.push({left, right: left + width, top: y - height / 2, bottom: y + height / 2});
}
/* The first of `words` that has room between two places, as far left as nothing is in the way. */
function spot(c, words, left, right, y, style = {}) {
  for (const text of words) {
    const width = widthOf(c, text, style), height = (style.size || 11) + 2;
    for (let x = left, other; x + width <= right; x = other.right + 4) {
      other = inTheWay(x - 2, y, width + 4, height);
      if (!other) { claim(x - 2, y, width + 4, height); return {text, x}; }
    }
  }
  return null;
}
/* The same at one place, or not at all. */
const spotAt = (c, text, x, y, style) =>
  spot(c, [text], x, Math.min(picture.width, x + widthOf(c, text, style) + .5), y, style);
/* Behind a point; at the edge of the picture before it. */
const spotBeside = (c, text, x, far, y, style) =>
  spotAt(c, text, x + far, y, style) || spotAt(c, text, x - far - widthOf(c, text, style), y, style);
