// The runs of one question: where each was measured, what it gave, and what all say together.
import { h } from '../dom.js';
import { day, words } from '../format.js';
import { badge, effect, experimentLink, section, table } from '../parts.js';

function name(run, data) {
  if (run.run === data.run) return h('strong', null, 'this run');
  if (run.id) return experimentLink(run.id);
  return h('span', null, run.published, h('div', { class: 'dim small' }, `in ${run.file}`));
}

export function runsSection(data) {
  const { runs = [], summary } = data.runs ?? {};
  if (!runs.length) return null;
  return section(
    'Runs of this question',
    h('p', { id: 'runs-summary' }, runs.length > 1 ? `${runs.length} runs: ${summary}.` : `One run: ${summary}.`),
    runs.length > 1
      ? table(
          [
            { head: 'Run', cell: (run) => name(run, data) },
            {
              head: 'Verdict',
              cell: (run) => [
                badge(run.verdict, run.state),
                run.reason ? h('span', { class: 'reason' }, words(run.reason)) : null,
              ],
            },
            { head: 'Effect', number: true, cell: (run) => effect(run) },
            { head: 'Class', cell: (run) => h('code', null, run.class) },
            { head: 'CPU', cell: (run) => [run.cpu, h('div', { class: 'dim small' }, run.host)] },
            {
              head: 'Day',
              class: 'dim nowrap',
              cell: (run) => day(run.decided_at || run.submitted_at),
            },
            { head: 'Code', cell: (run) => h('code', null, run.revision || 'unknown') },
          ],
          runs,
          { label: 'Runs of this question, oldest first' },
        )
      : null,
  );
}
