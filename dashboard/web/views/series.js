// One series: its history, the commits at which its level changed, and their triage. Mode, window,
// selected point and reference line are in the address.
import { getText } from '../api.js';
import { go } from '../navigation.js';
import { seriesChart } from '../charts/series.js';
import { h, replace } from '../dom.js';
import { interval, minute, nanoseconds, percent } from '../format.js';
import {
  badge,
  copyButton,
  empty,
  experimentLink,
  folded,
  machineName,
  section,
  table,
  time,
} from '../parts.js';
import { withHosts } from '../names.js';
import { notesOf } from '../notes.js';
import { bisectForm } from '../bisect.js';
import { triageForm } from '../triage.js';

const MODES = { abs: '× reference', pct: '% since start', prev: '% since previous' };

function address(query, changes) {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(changes)) {
    if (value) next.set(key, value);
    else next.delete(key);
  }
  const text = next.toString();
  return text ? `${location.pathname}?${text}` : location.pathname;
}

// The measured points of the window, and how a ratio is shown in the mode of the address.
function windowOf(data, query) {
  let points = data.points.filter((one) => one.ratio !== null);
  const place = (key) => {
    const wanted = query.get(key);
    return wanted ? points.findIndex((one) => one.commit.startsWith(wanted)) : -1;
  };
  const [from, to] = [place('from'), place('to')];
  points = points.slice(from < 0 ? 0 : from, to < 0 ? undefined : to + 1);
  const mode = query.get('mode') in MODES ? query.get('mode') : 'abs';
  const scaled = (ratio, i) => {
    if (mode === 'abs') return ratio;
    const base =
      mode === 'pct' ? (points[0].level ?? points[0].ratio) : points[Math.max(0, i - 1)].ratio;
    return ratio / base - 1;
  };
  return { points, mode, scaled };
}

// A raw value: the engine's time of a token, else the metric with its unit.
function rawValue(series, value) {
  if (!(value > 0)) return '–';
  if (!series.repository) return `${nanoseconds(value)} a token`;
  if (series.unit === 'ns') return nanoseconds(value);
  return `${Number(value.toPrecision(5))}${series.unit ? ` ${series.unit}` : ''}`;
}

function pointLine(points, at, series) {
  const point = points[at];
  if (!point) return h('p', { class: 'dim' }, 'Point at a dot or select one to see its commit.');
  const before = points[at - 1];
  return h(
    'p',
    null,
    h('code', null, point.commit.slice(0, 10)),
    ' ',
    point.subject,
    ' ',
    h('span', { class: 'dim' }, `(${minute(point.date)})`),
    ' · ',
    h('strong', null, `${point.ratio.toFixed(3)}×`),
    ' ',
    h('span', { class: 'dim' }, `${point.pairs} pairs, ${rawValue(series, point.champion_ns)}`),
    ` · ${percent(point.ratio / points[0].ratio - 1, 1)} since start`,
    point.experiment ? [' · ', experimentLink(point.experiment, 'experiment')] : null,
    point.experiment && before?.experiment
      ? [
          ' · ',
          h(
            'a',
            { href: `/compare/${before.experiment}...${point.experiment}` },
            'compare with the one before',
          ),
        ]
      : null,
  );
}

function controls(query) {
  const mode = query.get('mode') ?? 'abs';
  const chip = (label, on, changes) =>
    h(
      'a',
      {
        href: address(query, changes),
        class: on ? 'on' : null,
        'aria-current': on ? 'true' : null,
      },
      label,
    );
  return h(
    'div',
    { class: 'chips', role: 'group', 'aria-label': 'How it is drawn' },
    Object.entries(MODES).map(([key, label]) =>
      chip(label, mode === key, { mode: key === 'abs' ? '' : key }),
    ),
    chip('raw time', query.get('raw') === '1', { raw: query.get('raw') === '1' ? '' : '1' }),
    query.get('from') || query.get('to')
      ? chip('whole history', false, { from: '', to: '' })
      : null,
  );
}

// Numbers as they stand in the chart and in the list.
const numbered = (notes) => notes.map((one, i) => ({ ...one, number: i + 1 }));

function chart(data, query) {
  const { points, mode, scaled } = windowOf(data, query);
  if (!points.length) return empty('Nothing is measured in this window.');
  const chosen = points.findIndex((one) => one.commit.startsWith(query.get('at') ?? '-'));
  const line = h('div', { class: 'point', 'aria-live': 'polite' }, pointLine(points, chosen, data.series));
  const choose = (i) => go(address(query, { at: points[i].commit.slice(0, 12) }), true);
  const marks = data.changes
    .filter((one) => !one.gone)
    .map((one) => ({ ...one, index: points.findIndex((point) => point.commit === one.commit) }))
    .filter((one) => one.index > 0);
  const notes = numbered(data.notes)
    .map((one) => ({ ...one, index: points.findIndex((point) => point.commit === one.commit) }))
    .filter((one) => one.index >= 0);
  const box = seriesChart({
    data: points,
    values: points.map((one, i) => scaled(one.ratio, i)),
    levels: points.map((one, i) =>
      one.level === null || mode === 'prev' ? null : scaled(one.level, i),
    ),
    scaled,
    marks,
    notes,
    noise: mode === 'prev' ? 0 : data.series.noise,
    mode,
    raw: query.get('raw') === '1',
    at: chosen < 0 ? null : chosen,
    onZoom: (low, high) =>
      go(
        address(query, {
          from: points[low].commit.slice(0, 12),
          to: points[high].commit.slice(0, 12),
        }),
      ),
    onChoose: choose,
    onHover: (i) => replace(line, pointLine(points, i ?? chosen, data.series)),
  });
  const step = { ArrowLeft: -1, ArrowRight: 1 };
  const holder = h(
    'div',
    {
      id: 'history',
      tabindex: '0',
      role: 'img',
      'aria-label':
        `${points.length} measured commits from ${points[0].ratio.toFixed(2)} to ` +
        `${points.at(-1).ratio.toFixed(2)} times the reference, ${marks.length} changes of level. ` +
        'Arrow keys move from commit to commit.',
      onkeydown: (event) => {
        if (!(event.key in step)) return;
        event.preventDefault();
        const from = chosen < 0 ? points.length - (event.key === 'ArrowLeft' ? 0 : 1) : chosen;
        const to = Math.max(0, Math.min(points.length - 1, from + step[event.key]));
        choose(to).then(() => document.getElementById('history')?.focus({ preventScroll: true }));
      },
    },
    box,
  );
  return h('div', null, controls(query), holder, line);
}

function changeCard(data, change) {
  const way = change.shift < 0 ? 'worse' : 'better';
  const range = `${change.before.slice(0, 10)}…${change.commit.slice(0, 10)}`;
  return h(
    'article',
    { class: `card change ${change.gone ? 'gone' : ''}`, id: `change-${change.id}` },
    h(
      'header',
      null,
      h(
        'span',
        { class: `effect ${way}` },
        h('strong', null, `${change.shift < 0 ? '▼' : '▲'} ${percent(change.shift, 1)}`),
      ),
      h('span', { class: `badge triage-${change.state}` }, change.state),
      change.gone ? h('span', { class: 'dim small' }, 'no longer seen') : null,
      h(
        'span',
        null,
        'at ',
        change.compare
          ? h('a', { href: change.compare, rel: 'noreferrer' }, h('code', null, range))
          : h('code', null, range),
        ' ',
        change.subject,
      ),
    ),
    h(
      'p',
      { class: 'dim small' },
      {
        code: 'Only the commits’ side changed its time: the cause is in these commits. ',
        method: 'The question, the reference or a compiler changed here, not the code. ',
        hardware: 'The machine changed at this point; this says nothing about the code. ',
        noise: 'A direct A/B of the two sides shows nothing: noise. ',
        unknown: `${data.series.source} measured these values one after the other: the commits or the machine changed. `,
      }[change.cause],
      change.confirmation
        ? [
            'A direct A/B of the two sides: ',
            change.confirmed_by
              ? experimentLink(change.confirmed_by, change.confirmation)
              : change.confirmation,
            '. ',
          ]
        : null,
      change.cross_checked ? 'E-Divisive finds it too. ' : 'E-Divisive does not find it. ',
      change.interval?.[0] === null || change.interval === undefined
        ? null
        : `Shift ${interval(change.interval, 1)}. `,
      `p ${change.p < 1e-4 ? change.p.toExponential(0) : change.p.toPrecision(2)} · found `,
      time(change.found_at),
      change.triaged_at ? [' · triaged ', time(change.triaged_at)] : null,
      change.triaged_by ? ` by ${change.triaged_by.replace(/^token /, '')}` : null,
    ),
    triageForm(
      `triage-${change.id}`,
      `/api/series/${encodeURIComponent(data.series.name)}/changes/${change.id}`,
      change,
    ),
  );
}

function changes(data) {
  const current = data.changes.filter((one) => !one.gone);
  const gone = data.changes.filter((one) => one.gone);
  return section(
    'Changes of level',
    current.length
      ? h(
          'div',
          { class: 'stack' },
          current.map((one) => changeCard(data, one)),
        )
      : empty('None: the level did not change.'),
    gone.length
      ? folded(
          `${gone.length} that later commits no longer show`,
          h(
            'div',
            { class: 'stack' },
            gone.map((one) => changeCard(data, one)),
          ),
        )
      : null,
  );
}

// Only another program's commits are questions about revisions; the ends are the latest change's.
function bisectSection(data, measured) {
  const asked = measured.findLast((one) => one.experiment);
  if (!data.series.repository || data.series.source || !asked) return null;
  const latest = data.changes.find((one) => !one.gone);
  const ends = latest
    ? { good: latest.before, bad: latest.commit }
    : { good: measured[0].commit, bad: measured.at(-1).commit };
  return section('Search for a commit', bisectForm(asked.experiment, ends, data.searches, data.hosts));
}

function pointTable(data) {
  const rows = [...data.points].reverse();
  const shown = rows.slice(0, 200);
  const failed = data.points.filter((one) => one.failed).length;
  return folded(
    `${data.points.length} commits${failed ? `, ${failed} without a value` : ''}`,
    table(
      [
        { head: 'Commit', cell: (row) => h('code', null, row.commit.slice(0, 10)) },
        {
          head: 'Subject',
          class: 'wide',
          cell: (row) => [
            row.subject,
            row.failed ? h('div', { class: 'small dim' }, row.failed) : null,
          ],
        },
        {
          head: '× reference',
          number: true,
          cell: (row) => (row.ratio === null ? badge('', 'failed') : row.ratio.toFixed(4)),
        },
        {
          head: '95 % interval',
          number: true,
          class: 'dim nowrap',
          cell: (row) =>
            row.ratio === null || row.interval[0] === null || row.interval[1] === null
              ? ''
              : `[${row.interval[0].toFixed(3)}, ${row.interval[1].toFixed(3)}]`,
        },
        {
          head: data.series.repository ? data.series.metric : 'A token',
          number: true,
          cell: (row) => rawValue(data.series, row.champion_ns).replace(' a token', ''),
        },
        {
          head: 'Record',
          cell: (row) => (row.experiment ? experimentLink(row.experiment, 'experiment') : ''),
        },
      ],
      shown,
      { label: 'Measured commits, newest first' },
    ),
  );
}

export default {
  title: ([name]) => name,
  cli: () => 'steady track --list --json', // with --repo NAME for another repository
  every: 10000,
  busy: () => Boolean(document.activeElement?.closest('.triage, .notes, #history')),
  load: ([name], query, signal) => withHosts(`/s/${encodeURIComponent(name)}.json`, signal),
  draw: (data, [name], query) => {
    const measured = data.points.filter((one) => one.ratio !== null);
    const last = measured.at(-1);
    const away = last?.level ? last.ratio / last.level - 1 : null;
    const openChanges = data.changes.filter(
      (one) => !one.gone && ['new', 'acknowledged'].includes(one.state) && one.cause !== 'noise',
    );
    const slower = openChanges.some((one) => one.shift < 0);
    return h(
      'div',
      null,
      h('p', { class: 'crumbs' }, h('a', { href: '/s' }, 'Trends'), ' / ', name),
      h(
        'header',
        { class: `verdict ${slower ? 'reject' : 'accept'}` },
        h(
          'div',
          { class: 'verdict-line' },
          h(
            'span',
            { class: `badge large ${slower ? 'verdict-reject' : 'verdict-accept'}` },
            h(
              'span',
              { class: 'sign', 'aria-hidden': 'true' },
              slower ? '▼' : openChanges.length ? '▲' : '✓',
            ),
            slower ? 'slower' : openChanges.length ? 'faster' : 'steady',
          ),
          last
            ? h(
                'div',
                { class: 'headline' },
                h('strong', null, `${last.ratio.toFixed(2)}×`),
                ' ',
                h(
                  'span',
                  { class: 'interval dim small' },
                  `the reference, ${percent(away, 1)} from its level`,
                ),
              )
            : null,
        ),
        h('h1', null, data.series.claim),
        h(
          'p',
          { class: 'dim' },
          h('code', null, data.series.metric),
          data.series.reference
            ? [' against ', h('code', null, data.series.reference.slice(0, 10))]
            : null,
          ` · ${data.series.model} · on `,
          machineName(data.series.host, data.hosts),
          ` · ${measured.length} measurements · noise of one `,
          `${percent(data.series.noise, 2).replace('+', '')} · ${openChanges.length === 1 ? '1 open change' : `${openChanges.length || 'no'} open changes`}`,
        ),
        data.series.source
          ? h(
              'p',
              { class: 'note' },
              `Imported from ${data.series.source}: values, not verdicts. Each is compared with the oldest one; nothing ran beside it.`,
            )
          : null,
        h(
          'p',
          { class: 'actions' },
          copyButton('Copy as Markdown', () => getText(`/s/${encodeURIComponent(name)}.md`)),
          h('a', { class: 'button quiet', href: `/s/${encodeURIComponent(name)}.svg` }, 'SVG'),
          h('a', { class: 'button quiet', href: `/s/${encodeURIComponent(name)}.json` }, 'JSON'),
          h('a', { class: 'button quiet', href: `/together?s=${encodeURIComponent(name)}` }, 'With other series'),
        ),
      ),
      section('History', chart(data, query)),
      section('Notes and marks', notesOf(name, numbered(data.notes), query.get('at'))),
      changes(data),
      bisectSection(data, measured),
      pointTable(data),
    );
  },
};
