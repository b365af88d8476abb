// Several series in one chart, of one machine or of several. Each keeps its own line; the chosen
// ones and the scale are in the address.
import { get } from '../api.js';
import { letter, lineChart, swatch } from '../charts/lines.js';
import { h, replace } from '../dom.js';
import { minute, percent } from '../format.js';
import { withHosts } from '../names.js';
import { empty, machineName, section, table } from '../parts.js';

const MODES = { pct: '% since first commit shown', abs: '× reference' };
const MOST = 12;

const chosen = (query) => (query.get('s') ?? '').split(',').filter(Boolean);
const modeOf = (query) => (query.get('mode') in MODES ? query.get('mode') : 'pct');

function address(names, mode) {
  const query = new URLSearchParams({ s: names.join(',') });
  if (mode !== 'pct') query.set('mode', mode);
  return `/together?${query}`;
}

// All commits of all series, in the order of their dates; of each series the latest value of a commit.
function columns(list, mode) {
  const commits = new Map();
  for (const { points } of list) {
    for (const point of points) if (point.ratio !== null) commits.set(point.commit, point);
  }
  const order = [...commits.values()].sort((one, other) =>
    one.date === other.date ? 0 : one.date < other.date ? -1 : 1,
  );
  const place = new Map(order.map((point, i) => [point.commit, i]));
  const lines = list.map(({ series, points }) => {
    const values = Array(order.length).fill(null);
    for (const point of points) {
      if (point.ratio !== null) values[place.get(point.commit)] = point.ratio;
    }
    const first = values.find((value) => value !== null);
    if (mode === 'pct') {
      for (let i = 0; i < values.length; i += 1) if (values[i] !== null) values[i] = values[i] / first - 1;
    }
    return { series, values };
  });
  return { order, lines };
}

function commitLine(order, lines, at, unit) {
  const point = order[at];
  if (!point) return h('p', { class: 'dim' }, 'Point at a dot to see its commit and every value there.');
  return h(
    'p',
    null,
    h('code', null, point.commit.slice(0, 10)),
    ' ',
    point.subject,
    h('span', { class: 'dim' }, ` (${minute(point.date)})`),
    lines.map((line, i) =>
      line.values[at] === null ? null : [' · ', h('strong', null, letter(i)), ` ${unit(line.values[at])}`],
    ),
  );
}

function legend(data, lines, names, mode, unit) {
  const last = (line) => line.values.findLast((value) => value !== null) ?? null;
  const rows = lines.map((line, i) => ({ ...line, i, open: data.list[i].changes.filter((one) => !one.gone) }));
  return table(
    [
      { head: 'Line', cell: (row) => [swatch(row.i), ' ', h('strong', null, letter(row.i))] },
      {
        head: 'Series',
        class: 'wide wrap',
        cell: (row) => [
          h('a', { href: `/s/${row.series.name}` }, row.series.watch.replace(/^watch-/, '').split(':').at(-1)),
          h('div', { class: 'dim small' }, row.series.model),
        ],
      },
      { head: 'Machine', cell: (row) => machineName(row.series.host, data.hosts) },
      { head: 'Metric', cell: (row) => h('code', null, row.series.metric) },
      { head: 'Latest', number: true, cell: (row) => (last(row) === null ? '–' : unit(last(row))) },
      { head: 'Changes', number: true, cell: (row) => row.open.length },
      {
        head: '',
        cell: (row) =>
          names.length > 1
            ? h(
                'a',
                {
                  href: address(names.filter((name) => name !== row.series.name), mode),
                  'aria-label': `Leave out line ${letter(row.i)}`,
                },
                'leave out',
              )
            : '',
      },
    ],
    rows,
    { label: 'Lines of the chart' },
  );
}

function picker(data, names, mode) {
  const others = data.all.filter((row) => !names.includes(row.name));
  if (!others.length || names.length >= MOST) return null;
  const select = h(
    'select',
    { id: 'add-series' },
    others.map((row) =>
      h(
        'option',
        { value: row.name },
        `${row.watch.replace(/^watch-/, '').split(':').at(-1)} · ${machineText(row.host, data.hosts)}`,
      ),
    ),
  );
  return h(
    'form',
    { class: 'filters', action: '/together' },
    h('label', { class: 'grow' }, h('span', null, 'Another series'), select),
    h('a', {
      id: 'add-line',
      class: 'button',
      href: address([...names, others[0].name], mode), // draw() lets it follow the choice
    }, 'Add line'),
  );
}

function machineText(host, hosts) {
  const name = machineName(host, hosts);
  return name.textContent ?? name;
}

function chart(data, names, mode) {
  const { order, lines } = columns(data.list, mode);
  if (!order.length) return empty('None of these series has a measured commit.');
  const unit = mode === 'abs' ? (v) => `${v.toFixed(v < 10 ? 2 : 1)}×` : (v) => percent(v, 1);
  const line = h('div', { class: 'point', 'aria-live': 'polite' }, commitLine(order, lines, -1, unit));
  return [
    h(
      'div',
      {
        id: 'together',
        role: 'img',
        'aria-label':
          `${lines.length} lines over ${order.length} commits: ` +
          lines.map((one, i) => `${letter(i)} ${one.series.name}`).join(', '),
      },
      lineChart({
        x: order.map((one, i) => i),
        labels: (i) => order[i]?.commit.slice(0, 7) ?? '',
        lines,
        unit,
        onHover: (i) => replace(line, commitLine(order, lines, i ?? -1, unit)),
      }),
    ),
    line,
    legend(data, lines, names, mode, unit),
  ];
}

export default {
  title: () => 'Series together',
  cli: () => 'steady track --list --json',
  load: async ([], query, signal) => {
    const names = chosen(query).map(encodeURIComponent).join(',');
    const [{ rows: all, hosts }, { list }] = await Promise.all([
      withHosts('/s.json', signal),
      names ? get(`/together.json?s=${names}`, signal) : { list: [] },
    ]);
    return { all, hosts, list };
  },
  draw: (data, [], query) => {
    // The server lists them by name; letters follow that order.
    const names = data.list.map((one) => one.series.name);
    const mode = modeOf(query);
    const forges = new Set(data.list.map((one) => `${one.series.repository}:${one.series.branch}`));
    const form = picker(data, names, mode);
    form?.querySelector('select').addEventListener('change', (event) => {
      form.querySelector('#add-line').setAttribute('href', address([...names, event.target.value], mode));
    });
    return h(
      'div',
      null,
      h('p', { class: 'crumbs' }, h('a', { href: '/s' }, 'Trends'), ' / Together'),
      h('h1', null, 'Series together'),
      h(
        'p',
        { class: 'dim' },
        'Every series has a line of its own: values of two machines or benchmarks are never joined or ' +
          'averaged. Commits stand in the order of their dates.',
        forges.size > 1 ? ' These series belong to several repositories or branches.' : '',
      ),
      h(
        'div',
        { class: 'chips', role: 'group', 'aria-label': 'Scale' },
        Object.entries(MODES).map(([key, label]) =>
          h(
            'a',
            {
              href: address(names, key),
              class: mode === key ? 'on' : null,
              'aria-current': mode === key ? 'true' : null,
            },
            label,
          ),
        ),
      ),
      form,
      names.length
        ? section('History', chart(data, names, mode))
        : empty('No series is chosen. ', h('a', { href: '/s' }, 'Trends'), ' lists them.'),
    );
  },
};
