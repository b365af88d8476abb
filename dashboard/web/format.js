// Numbers and times as text. A number always has sign, unit and spread; an unknown value is a dash,
// never zero.

const MINUS = '\u2212';
const THIN = '\u202f';

export function percent(fraction, digits = 2) {
  if (fraction === null || fraction === undefined) return '\u2013';
  const value = (Math.abs(fraction) * 100).toFixed(digits);
  const sign = Number(value) === 0 ? '\u00b1' : fraction < 0 ? MINUS : '+';
  return `${sign}${value}${THIN}%`;
}

// [low, high] as "[+1.20 %, +3.40 %]"; an open side is said in words.
export function interval(bounds, digits = 2) {
  if (!bounds || (bounds[0] === null && bounds[1] === null)) return '';
  const [low, high] = bounds;
  if (low === null) return `at most ${percent(high, digits)}`;
  if (high === null) return `at least ${percent(low, digits)}`;
  return `[${percent(low, digits)}, ${percent(high, digits)}]`;
}

export function direction(fraction, bounds) {
  if (fraction === null || fraction === undefined) return 'none';
  if (bounds && bounds[0] !== null && bounds[0] > 0) return 'better';
  if (bounds && bounds[1] !== null && bounds[1] < 0) return 'worse';
  return 'undecided';
}

export const ARROWS = { better: '\u25b2', worse: '\u25bc', undecided: '~', none: '' };

export function duration(seconds) {
  if (!(seconds > 0)) return '\u2013';
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(seconds < 36000 ? 1 : 0)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// "3 min ago"; the exact time belongs into a title or a <time> element beside it.
export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (!Number.isFinite(seconds)) return '\u2013';
  return seconds < 5 ? 'just now' : `${duration(seconds)} ago`;
}

export function day(iso) {
  return iso ? iso.slice(0, 10) : '\u2013';
}

export function minute(iso) {
  return iso ? `${iso.slice(0, 10)} ${iso.slice(11, 16)}` : '\u2013';
}

export function nanoseconds(ns) {
  if (!(ns > 0)) return '\u2013';
  if (ns < 1e3) return `${ns.toFixed(0)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(ns < 1e4 ? 2 : 1)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(ns < 1e7 ? 2 : 1)} ms`;
  return `${(ns / 1e9).toFixed(2)} s`;
}

export function bytes(n) {
  if (!(n > 0)) return '\u2013';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (n >= 1000 && unit < 4) {
    n /= 1000;
    unit += 1;
  }
  return `${n.toFixed(unit === 0 || n >= 100 ? 0 : n >= 10 ? 1 : 2)} ${units[unit]}`;
}

export function count(n) {
  return n === null || n === undefined ? '\u2013' : Number.isInteger(n) ? String(n) : n.toFixed(1);
}

export function words(text) {
  return text ? text.replaceAll('_', ' ') : '';
}
