// Machines: facts, noise (A/A), and the smallest effect that each can detect.
import { get } from '../api.js';
import { h } from '../dom.js';
import { bytes, percent } from '../format.js';
import { empty, experimentLink, facts, folded, machineName, machineTabs, table, time } from '../parts.js';

// Smallest effect seen with 95 % power in 50 pairs at one-sided 1 %: (2.33 + 1.64) · sigma / sqrt 50.
export const detectable = (sigma) => (3.97 * sigma) / Math.sqrt(50);

// "NVIDIA H100 80GB HBM3, driver 580.159.04", each model once.
function gpus(known) {
  const named = Object.entries(known).filter(([key]) => /^gpu\d+_name$/.test(key));
  const told = named.map(([key, name]) => `${name}, driver ${known[key.replace('name', 'driver')] ?? 'unknown'}`);
  return [...new Set(told)].join('; ');
}

export function hostCard(host) {
  const known = host.facts;
  const rest = Object.entries(known).filter(
    ([key]) => !['cpu_model', 'cpus', 'kernel', 'memory_bytes', 'governor'].includes(key),
  );
  return h(
    'article',
    { class: 'card' },
    h(
      'header',
      null,
      h('h2', null, h('a', { href: `/hosts/${encodeURIComponent(host.name)}` }, machineName(host.name, [host]))),
      host.draining ? h('span', { class: 'badge state-queued' }, 'draining') : null,
    ),
    facts([
      ['CPU', known.cpu_model ?? ''],
      ['CPUs', known.cpus ?? ''],
      ['GPU', gpus(known)],
      ['Memory', known.memory_bytes ? bytes(Number(known.memory_bytes)) : ''],
      ['Kernel', known.kernel ?? ''],
      ['Governor', known.governor ?? ''],
      ['Tags', host.tags.join(', ')],
      ['Seen', time(host.seen_at)],
      ['Runs', host.running ? experimentLink(host.running) : 'nothing'],
    ]),
    host.noise.length
      ? table(
          [
            { head: 'Own noise of', cell: (noise) => h('code', null, noise.metric) },
            { head: 'Mode', cell: (noise) => noise.mode.replace('_', ' ') },
            { head: 'On', class: 'wrap', cell: (noise) => noise.gpu || 'CPU' },
            {
              head: 'σ of a pair',
              number: true,
              cell: (noise) => percent(noise.sigma_d, 3).replace('+', ''),
            },
            { head: 'A/A pairs', number: true, cell: (noise) => noise.pairs },
            {
              head: 'Seen in 50 pairs',
              number: true,
              cell: (noise) => percent(detectable(noise.sigma_d)),
            },
            { head: 'Latest', class: 'dim', cell: (noise) => time(noise.at) },
          ],
          host.noise,
          { label: `Noise of ${host.name}` },
        )
      : empty('No A/A pairs yet: run ', h('code', null, 'steady aa'), ' there.'),
    rest.length ? folded(`${rest.length} more facts`, facts(rest)) : null,
  );
}

export default {
  title: () => 'Machines',
  cli: () => 'steady doctor --json',
  every: 10000,
  load: (params, query, signal) => get('/hosts.json', signal),
  draw: (data) =>
    h(
      'div',
      null,
      h('h1', null, 'Machines'),
      machineTabs('/hosts'),
      data.hosts.length
        ? h('div', { class: 'stack' }, data.hosts.map(hostCard))
        : empty('No machine has taken a job yet: run ', h('code', null, 'steady worker'), '.'),
    ),
};
