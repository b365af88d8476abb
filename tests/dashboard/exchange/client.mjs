// A client generated from /openapi.json calls every operation that answers JSON, and each answer
// must fit the schema that the description promises; a field without a schema is a mistake here.
// Argument: the program that serves made-up experiments.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withSeededServer } from '../seeded.mjs';

let OpenAPIClientAxios, Ajv;
try {
  OpenAPIClientAxios = (await import('openapi-client-axios')).OpenAPIClientAxios;
  Ajv = (await import('ajv/dist/2020.js')).default.default ?? (await import('ajv/dist/2020.js')).default;
} catch (error) {
  console.log(`SKIPPED: ${error.message} (npm ci in tests/dashboard)`);
  process.exit(77);
}

// Those that the made-up database has nothing for.
const NOT_CALLED = [
  'post_api_alerts_alert',
  'get_w_host_json',
  'get_j_slug_json',
  'post_api_experiments_id_bisect',
  'post_api_bisections_search_cancel',
  'post_api_shipped_import',
];

const source = join(dirname(fileURLToPath(import.meta.url)), '../../..');

// What is described must be all there is.
function closed(schema) {
  if (schema === null || typeof schema !== 'object') return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const out = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, closed(one)]));
  const open = schema.additionalProperties !== undefined;
  if (schema.properties && typeof schema.type !== 'undefined' && !open) out.additionalProperties = false;
  return out;
}

async function calls(client, address) {
  const called = new Map();
  const ask = async (operation, parameters = {}, body = undefined) => {
    if (typeof client[operation] !== 'function') throw new Error(`no operation ${operation}`);
    const sent = operation.startsWith('post_') ? (body ?? {}) : body;
    const headers = { 'Content-Type': 'application/json' };
    const { data } = await client[operation](parameters, sent, { headers });
    called.set(operation, [...(called.get(operation) ?? []), data]);
    return data;
  };
  const { rows } = await ask('get_index_json');
  await ask('get_experiments_json', { limit: 20, suite: '1' });
  for (const { id } of rows.slice(0, 8)) {
    await ask('get_x_id_json', { id });
    await ask('get_x_id_pairs_json', { id });
    await ask('get_x_id_events_json', { id, since: 0 });
    await ask('get_x_id_record_json', { id });
    if ((await ask('get_x_id_json', { id })).sampled) await ask('get_x_id_flame_json', { id });
  }
  await ask('get_compare_pair_json', { pair: `${rows[0].id}...${rows[1].id}` });
  const entries = await ask('get_j_json');
  const entry = entries.rows.find((row) => !row.file);
  if (entry) await ask('get_j_slug_json', { slug: entry.slug });
  await ask('get_j_json', { q: 'matvec' });
  await ask('get_tried_json', { q: 'fused' });
  for (const plain of ['kernels', 'hosts', 'q', 'alerts', 'aa', 'w', 'owners', 'healthz', 'readyz']) {
    await ask(`get_${plain}_json`);
  }
  const series = (await ask('get_s_json')).rows;
  const one = await ask('get_s_name_json', { name: series[0].name });
  const commits = one.points.map((point) => point.commit);
  await ask('get_revisions_pair_json', { pair: `${commits[0]}...${commits.at(-1)}` });
  await ask('get_together_json', { s: series.slice(0, 2).map((row) => row.name).join(',') });
  const { id: note } = await ask('post_api_series_name_notes', { name: series[0].name }, {
    commit: commits[0].slice(0, 12),
    kind: 'note',
    text: 'seen by the client',
  });
  await ask('get_s_name_json', { name: series[0].name });
  await ask('post_api_series_name_notes_note_remove', { name: series[0].name, note });
  await ask('get_shipped_json');
  const { hosts } = called.get('get_hosts_json')[0];
  await ask('get_hosts_host_json', { host: hosts[0].name });
  const { workers } = called.get('get_w_json')[0];
  if (workers.length) await ask('get_w_host_json', { host: workers[0].host });
  const text = readFileSync(join(source, 'experiments/quickstart.json'), 'utf8');
  const question = JSON.parse(text.replaceAll(/(^|\s)\/\/[^\n]*/g, ''));
  await ask('post_api_validate', {}, question);
  const { id } = await ask('post_api_experiments', {}, question);
  await ask('post_api_experiments_id_priority', { id, priority: 7 });
  await ask('post_api_experiments_id_cancel', { id });
  await ask('post_api_experiments_id_requeue', { id });
  await ask('post_api_experiments_id_cancel', { id });
  const done = rows.find((row) => row.verdict);
  await ask('post_api_experiments_id_rerun', { id: done.id });
  const change = one.changes[0];
  if (change) {
    await ask('post_api_series_name_changes_change', { name: one.series.name, change: change.id }, {
      state: 'acknowledged',
    });
  }
  return called;
}

async function check(address) {
  const definition = await (await fetch(`${address}/openapi.json`)).json();
  const api = new OpenAPIClientAxios({
    definition,
    withServer: { url: address },
    axiosConfigDefaults: { headers: { Authorization: 'Bearer client' } },
  });
  const called = await calls(await api.init(), address);
  const ajv = new Ajv({ strict: false, allErrors: true });
  ajv.addSchema({ $id: 'api', components: closed(definition.components) });
  let answers = 0;
  for (const [operation, list] of called) {
    const described = api.getOperation(operation).responses['200'].content['application/json'].schema;
    const original = Object.values(definition.paths)
      .flatMap((path) => Object.values(path))
      .find((candidate) => candidate.operationId === operation);
    const schema = original.responses['200'].content['application/json'].schema;
    if (!described || !schema) throw new Error(`${operation}: its answer has no schema`);
    const fits = ajv.compile({ $ref: `api${schema.$ref}` });
    for (const data of list) {
      ++answers;
      if (fits(data)) continue;
      const all = fits.errors.slice(0, 6).map((one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`);
      throw new Error(`${operation}: ${all.join('; ')}`);
    }
  }
  const promised = Object.values(definition.paths)
    .flatMap((path) => Object.values(path))
    .filter((one) => one.responses['200'].content['application/json']?.schema)
    .map((one) => one.operationId)
    .filter((one) => !called.has(one) && !NOT_CALLED.includes(one));
  if (promised.length) throw new Error(`never called: ${promised.join(', ')}`);
  console.log(`${called.size} operations, ${answers} answers, each as described`);
}

try {
  const options = ['--experiments', '40', '--samples', '2000', '--token', 'admin=client'];
  await withSeededServer(process.argv[2], options, check);
} catch (error) {
  console.error(error.message, error.response?.data ?? '');
  process.exitCode = 1;
}
