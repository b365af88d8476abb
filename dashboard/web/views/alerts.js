// The inbox: what people should hear of, the open ones first, grouped by range of commits.
import { h } from '../dom.js';
import { percent } from '../format.js';
import { withHosts } from '../names.js';
import { command, empty, experimentLink, folded, seriesLink, table, time } from '../parts.js';
import { triageForm } from '../triage.js';

function range(alert) {
  const text = `${alert.before.slice(0, 10)}…${alert.commit.slice(0, 10)}`;
  return alert.compare
    ? h('a', { href: alert.compare, rel: 'noreferrer' }, h('code', null, text))
    : h('code', { title: `${alert.before}..${alert.commit}` }, text);
}

function headline(alert) {
  if (alert.kind !== 'change') {
    return [
      h('strong', null, experimentLink(alert.subject)),
      ` ${alert.kind === 'failure' ? 'failed' : alert.verdict}`,
      alert.reason ? `: ${alert.reason.replaceAll('_', ' ')}` : '',
    ];
  }
  const most = alert.series[0]?.shift ?? 0;
  return [
    h(
      'span',
      { class: `effect ${alert.slower ? 'worse' : 'better'}` },
      h('strong', null, `${alert.slower ? '▼' : '▲'} ${percent(most, 1)}`),
    ),
    ` ${alert.subject.split(':').slice(0, -1).join(':') || 'steady-engine'} `,
    range(alert),
  ];
}

function members(alert, hosts) {
  return table(
    [
      { head: 'Series', class: 'wide', cell: (row) => seriesLink(row.series, hosts) },
      { head: 'Metric', cell: (row) => h('code', null, row.metric) },
      { head: 'Shift', number: true, cell: (row) => percent(row.shift, 1) },
      { head: 'Class', cell: (row) => (row.gone ? `${row.cause}, no longer seen` : row.cause) },
      {
        head: 'Direct A/B',
        cell: (row) =>
          row.confirmed_by
            ? experimentLink(row.confirmed_by, row.confirmation)
            : row.confirmation || h('span', { class: 'dim' }, 'not run'),
      },
    ],
    alert.series,
    { label: `Series of alert ${alert.id}` },
  );
}

function card(alert, hosts) {
  return h(
    'article',
    { class: 'card change', id: `alert-${alert.id}` },
    h(
      'header',
      null,
      h('span', { class: `badge triage-${alert.state}` }, alert.state),
      h('span', null, headline(alert)),
    ),
    alert.claim ? h('p', null, alert.claim) : null,
    alert.series.length ? members(alert, hosts) : null,
    h(
      'p',
      { class: 'dim small' },
      'found ',
      time(alert.at),
      alert.triaged_by ? ` · triaged by ${alert.triaged_by.replace(/^token /, '')}` : null,
      alert.deliveries ? ` · ${alert.deliveries}` : null,
    ),
    command(alert.again),
    triageForm(`alert-${alert.id}`, `/api/alerts/${alert.id}`, alert),
  );
}

export default {
  title: () => 'Alerts',
  cli: () => 'steady alerts list --json',
  every: 10000,
  busy: () => Boolean(document.activeElement?.closest('.triage')),
  load: (params, query, signal) => withHosts('/alerts.json', signal),
  draw: (data) => {
    const open = data.alerts.filter((one) => ['new', 'acknowledged'].includes(one.state));
    const closed = data.alerts.filter((one) => !open.includes(one));
    return h(
      'div',
      null,
      h('p', { class: 'crumbs' }, h('a', { href: '/s' }, 'Trends'), ' / Alerts'),
      h('h1', null, 'Alerts'),
      data.alerts.length
        ? h(
            'p',
            { class: 'dim' },
            'Changes of level in tracked series, and failed jobs, grouped by range of commits. Class says ',
            'what moved: code (only the tracked commits), method or hardware (the reference moved too), ',
            'noise. Direct A/B is the verdict of the commits on both sides, measured against each other. ',
            'The command measures the range again; saving a state needs a token.',
          )
        : null,
      open.length
        ? h('div', { class: 'stack' }, open.map((one) => card(one, data.hosts)))
        : empty(
            'Nothing is open. ',
            h('code', null, 'steady track'),
            ' finds changes of speed, and failed jobs appear here; ',
            h('code', null, 'steady alerts send'),
            ' sends them to a webhook or by mail.',
          ),
      closed.length
        ? folded(
            `${closed.length} closed`,
            h('div', { class: 'stack' }, closed.map((one) => card(one, data.hosts))),
          )
        : null,
    );
  },
};
