// The scripts of runner/ci against recorded events and a fake API server on loopback: a shallow
// clone finds its merge base, a regression fails, one comment is updated in place, a fork's result is
// posted by the second workflow, and the budget holds. Measures counted work with the real steady.
//   node tests/ci_action/run.mjs STEADY [NAME…]
// With STEADY_CI_ROOT the scripts run in that root, which has the same paths inside; see `debian`.
import { execFile, execFileSync } from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const here = path.dirname(new URL(import.meta.url).pathname);
const scripts = process.env.STEADY_CI_SCRIPTS ?? path.resolve(here, '../../runner/ci');
const inside = process.env.STEADY_CI_ROOT;
const [steady, ...only] = process.argv.slice(2);
for (const tool of ['git', 'jq', 'curl', 'timeout']) {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
  } catch {
    console.log(`SKIPPED: ${tool} is not installed`);
    process.exit(77);
  }
}
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'steady-ci-'));
fs.chmodSync(root, 0o755); // as root, the database's own user passes through

function git(folder, ...words) {
  return execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  }).trim();
}

function commit(folder, work, text, pause = 0) {
  fs.writeFileSync(
    path.join(folder, 'bench'),
    `sleep ${pause}\necho '{"metric": "work_items", "value": ${work}, "direction": "lower"}'\n`,
  );
  fs.writeFileSync(path.join(folder, 'notes'), text);
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', text);
  return git(folder, 'rev-parse', 'HEAD');
}

// main: common - newer (an unrelated change that does twice the work); change: common - ours.
function upstream(work, pause = 0) {
  const folder = fs.mkdtempSync(path.join(root, 'upstream-'));
  git(folder, 'init', '--quiet', '--initial-branch=main');
  fs.mkdirSync(path.join(folder, 'steady'));
  const question = {
    id: 'work',
    owner: 'test',
    hypothesis: { claim: 'The change does less work', because: 'a pull request says so' },
    subject: { program: 'outside', name: 'counter', repo: '.' },
    arms: { A: { rev: 'main', run: ['sh', 'bench'] }, B: { rev: 'HEAD', run: ['sh', 'bench'] } },
    expect_diff: ['rev'],
    gates: [
      { id: 'runs', level: 'correctness', role: 'guard', need: { exit: 0 } },
      {
        id: 'work',
        level: 'model',
        role: 'decides',
        adapter: 'lines',
        metric: 'work_items',
        direction: 'lower',
        worth: '1%',
      },
    ],
    schedule: { pairs: { max: 30 }, aa_pairs: 0, warmup_runs: 0 },
  };
  fs.writeFileSync(path.join(folder, 'steady/work.json'), JSON.stringify(question));
  for (let i = 0; i < 5; ++i) commit(folder, 1000, `before ${i}`);
  const common = commit(folder, 1000, 'common', pause);
  git(folder, 'checkout', '--quiet', '-b', 'change');
  const head = commit(folder, work, 'the change', pause);
  git(folder, 'checkout', '--quiet', 'main');
  const base = commit(folder, 2000, 'somebody else');
  git(folder, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
  return { folder, common, head, base };
}

function shallow(from) {
  const folder = fs.mkdtempSync(path.join(root, 'clone-'));
  git(root, 'clone', '--quiet', '--depth=1', '--branch=change', `file://${from.folder}`, folder);
  return folder;
}

function event(name, values) {
  let text = fs.readFileSync(path.join(here, 'events', `${name}.json`), 'utf8');
  for (const [key, value] of Object.entries(values)) text = text.replaceAll(key, value);
  const file = path.join(fs.mkdtempSync(path.join(root, 'event-')), 'event.json');
  fs.writeFileSync(file, text);
  return file;
}

function run(script, words, folder, env) {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^(GITHUB|CI|CHANGE|STEADY|GITLAB)_/.test(key)),
  );
  const variables = {
    ...clean,
    ...(inside ? { PATH: '/usr/bin:/bin', HOME: root, LC_ALL: 'C.UTF-8' } : {}),
    STEADY: steady,
    STEADY_STATE_DIR: path.join(root, 'state'),
    STEADY_HOST_LOCK: path.join(root, 'host.lock'), // counted work needs no quiet machine
    ...env,
  };
  return new Promise((resolve) => {
    execFile(
      inside ? '/usr/sbin/chroot' : 'sh',
      [...(inside ? [inside, 'env', '-C', folder, 'sh'] : []), path.join(scripts, script), ...words],
      { cwd: folder, encoding: 'utf8', env: variables },
      (error, out, err) => resolve({ code: error ? error.code : 0, out, err }),
    );
  });
}

// A forge with comments of GitHub and notes of GitLab.
function forge(comments, pulls = []) {
  const calls = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const url = new URL(request.url, 'http://x');
      const call = { method: request.method, path: url.pathname, body: body && JSON.parse(body) };
      call.authorization = request.headers.authorization ?? request.headers['private-token'];
      calls.push(call);
      const send = (status, value) => {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(value));
      };
      if (!call.authorization?.includes('secret')) return send(401, { message: 'Bad credentials' });
      if (url.pathname.endsWith('/user')) return send(200, { username: 'steady-bot' });
      if (url.pathname.endsWith('/pulls')) {
        const head = url.searchParams.get('head');
        return send(200, pulls.filter((one) => one.head.label === head));
      }
      if (request.method === 'GET') {
        const page = Number(url.searchParams.get('page'));
        return send(200, comments.slice(100 * (page - 1), 100 * page));
      }
      if (request.method === 'POST') {
        const who = { login: 'github-actions[bot]', username: 'steady-bot' };
        comments.push({ id: 1000 + comments.length, user: who, author: who, ...call.body });
        return send(201, { ...comments.at(-1), html_url: 'https://forge.example/c' });
      }
      const id = Number(url.pathname.split('/').at(-1));
      const found = comments.find((one) => one.id === id);
      Object.assign(found, call.body);
      return send(200, { ...found, html_url: 'https://forge.example/c' });
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve({ calls, comments, url: `http://127.0.0.1:${server.address().port}`, server }),
    );
  });
}

function result(text) {
  const folder = fs.mkdtempSync(path.join(root, 'result-'));
  fs.mkdirSync(path.join(folder, 'steady-ci'));
  fs.writeFileSync(path.join(folder, 'steady-ci/comment.md'), text);
  return folder;
}

const github = (api, file) => ({
  GITHUB_TOKEN: 'secret',
  GITHUB_API_URL: api.url,
  GITHUB_REPOSITORY: 'team/counter',
  GITHUB_EVENT_PATH: file,
});

const cases = {
  async a_regression_fails_against_the_merge_base() {
    const from = upstream(1100);
    const folder = shallow(from);
    const file = event('pull_request', { HEAD_SHA: from.head, BASE_SHA: from.base });
    const done = await run('compare.sh', [], folder, { GITHUB_EVENT_PATH: file });
    assert.equal(done.code, 10, done.out + done.err);
    const results = JSON.parse(fs.readFileSync(path.join(folder, 'steady-ci/results.json')));
    assert.equal(results.merge_base, from.common, 'not the tip of main, which does twice the work');
    assert.equal(results.head, from.head);
    const text = fs.readFileSync(path.join(folder, 'steady-ci/comment.md'), 'utf8');
    assert.match(text, /reject/);
    assert.match(text, /[-−]9\.09/);
    const junit = fs.readFileSync(path.join(folder, 'steady-ci/junit.xml'), 'utf8');
    assert.match(junit, /tests="1" failures="1"/);
    assert.match(junit, /reject \/ regression/);
    assert.equal(git(folder, 'status', '--porcelain'), '?? steady-ci/');
    const never = await run('compare.sh', ['--fail-on', 'never'], folder, { GITHUB_EVENT_PATH: file });
    assert.equal(never.code, 0, never.err);
  },
  async an_equal_change_passes_and_a_command_needs_no_file() {
    const from = upstream(1000);
    const words = ['--base', 'main', '--adapter', 'lines', '--metric', 'work_items', '--direction',
      'lower', '--pairs', '20', '--', 'sh', 'bench'];
    const done = await run('compare.sh', words, shallow(from), {});
    assert.equal(done.code, 0, done.out + done.err);
    assert.match(done.out, /no_worthwhile_gain|no worthwhile gain/);
  },
  async the_budget_holds_and_is_never_green() {
    const from = upstream(1000, 0.3);
    const began = Date.now();
    const done = await run('compare.sh', ['--base', from.base, '--budget', '0.07'], shallow(from), {});
    assert.equal(done.code, 11, done.out + done.err);
    assert.match(done.out, /budget of 0\.07 minutes was used up/);
    assert.ok(Date.now() - began < 70000, 'an interrupt ends the question');
  },
  async bad_input_is_said() {
    const folder = shallow(upstream(1000));
    for (const [words, text] of [
      [[], /no base/],
      [['--budget', '0', '--base', 'x'], /--budget: found "0"/],
      [['--nonsense'], /unknown option --nonsense/],
      [['--fail-on', 'x'], /allowed regression, inconclusive, never/],
      [['nosuch.json'], /no such question file/],
      [['--base', 'nosuch'], /cannot be fetched/],
      [['--base', 'HEAD'], /nothing to compare/],
    ]) {
      const done = await run('compare.sh', words, folder, {});
      assert.equal(done.code, 2, words.join(' ') + done.err);
      assert.match(done.err, text);
    }
  },
  async one_comment_is_updated_in_place() {
    const others = Array.from({ length: 130 }, (unused, i) => ({
      id: i,
      user: { login: i === 5 ? 'mallory' : 'kim' },
      body: i === 5 ? '<!-- steady comment steady -->\nforged' : 'words',
    }));
    const api = await forge(others);
    const file = event('pull_request', { HEAD_SHA: 'a'.repeat(40), BASE_SHA: 'b'.repeat(40) });
    const first = await run('comment.sh', [], result('first @kim <!-- steady comment x -->'), github(api, file));
    assert.equal(first.code, 0, first.err);
    const second = await run('comment.sh', [], result('second'), github(api, file));
    assert.equal(second.code, 0, second.err);
    api.server.close();
    assert.deepEqual(
      api.calls.filter((one) => one.method !== 'GET').map((one) => `${one.method} ${one.path}`),
      ['POST /repos/team/counter/issues/7/comments',
        'PATCH /repos/team/counter/issues/comments/1130'],
    );
    const posted = api.calls.find((one) => one.method === 'POST').body.body;
    assert.match(posted, /^<!-- steady comment steady -->\nfirst &#64;kim &lt;!--/);
    assert.equal(api.comments.length, 131);
    assert.match(api.comments[130].body, /second/);
    assert.match(api.comments[5].body, /forged/, 'a comment of somebody else stays');
  },
  async a_fork_is_commented_by_the_second_workflow() {
    const sha = 'c'.repeat(40);
    const pulls = [
      { number: 11, head: { label: 'stranger:change of mine', sha: 'd'.repeat(40) } },
      { number: 12, head: { label: 'stranger:change of mine', sha } },
    ];
    const api = await forge([], pulls);
    const file = event('workflow_run', { HEAD_SHA: sha });
    const done = await run('comment.sh', [], result('measured'), github(api, file));
    assert.equal(done.code, 0, done.err);
    assert.equal(api.calls.at(-1).path, '/repos/team/counter/issues/12/comments');
    const old = event('workflow_run', { HEAD_SHA: 'e'.repeat(40) });
    const before = api.calls.length;
    const late = await run('comment.sh', [], result('old'), github(api, old));
    assert.equal(late.code, 0, late.err);
    assert.match(late.err, /nothing to say/);
    assert.equal(api.calls.length, before + 1, 'only the list of pull requests was read');
    api.server.close();
  },
  async a_refused_token_is_said() {
    const api = await forge([]);
    const file = event('pull_request', { HEAD_SHA: 'a'.repeat(40), BASE_SHA: 'b'.repeat(40) });
    const done = await run('comment.sh', [], result('x'), { ...github(api, file), GITHUB_TOKEN: 'wrong' });
    api.server.close();
    assert.notEqual(done.code, 0);
    assert.match(done.err, /needs the right to write comments/);
    assert.doesNotMatch(done.err + done.out, /wrong/);
  },
  async gitlab_gets_one_note() {
    const api = await forge([]);
    const env = {
      GITLAB_TOKEN: 'secret',
      CI_API_V4_URL: `${api.url}/api/v4`,
      CI_PROJECT_ID: '3',
      CI_MERGE_REQUEST_IID: '9',
    };
    for (const text of ['one', 'two']) {
      const done = await run('comment.sh', [], result(text), env);
      assert.equal(done.code, 0, done.err);
    }
    api.server.close();
    const writes = api.calls.filter((one) => one.method !== 'GET');
    assert.deepEqual(writes.map((one) => `${one.method} ${one.path}`),
      ['POST /api/v4/projects/3/merge_requests/9/notes',
        'PUT /api/v4/projects/3/merge_requests/9/notes/1000']);
  },
  // The steps of action.yml as a runner takes them: inputs as variables, outputs as files.
  async the_steps_of_the_action_run() {
    const yaml = fs.readFileSync(path.resolve(scripts, '../../action.yml'), 'utf8');
    const steps = [...yaml.matchAll(/run: sh "\$GITHUB_ACTION_PATH\/runner\/ci\/(\S+)" (\w+)/g)];
    assert.deepEqual(steps.map((one) => one[2]), ['compare', 'comment', 'verdict']);
    assert.doesNotMatch(yaml.replace(/^ +[A-Z_]+: .*$/gm, '').match(/run: .*/g).join('\n'), /\$\{\{/,
      'text of a pull request must not become code');
    const from = upstream(1000);
    const folder = shallow(from);
    const api = await forge([]);
    const env = {
      ...github(api, event('pull_request', { HEAD_SHA: from.head, BASE_SHA: from.base })),
      STEADY_GIVEN: steady,
      GITHUB_OUTPUT: path.join(folder, '../outputs'),
      GITHUB_STEP_SUMMARY: path.join(folder, '../summary'),
      QUESTIONS: 'steady/work.json',
      BUDGET: '5',
    };
    for (const [, script, step] of steps) {
      const written = fs.existsSync(env.GITHUB_OUTPUT)
        ? fs.readFileSync(env.GITHUB_OUTPUT, 'utf8').match(/exit-code=(\d+)/)[1]
        : '';
      const done = await run(script, [step], folder, { ...env, EXIT_CODE: written });
      assert.equal(done.code, 0, `${step}: ${done.out}${done.err}`);
    }
    api.server.close();
    assert.match(fs.readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8'), /### Steady/);
    assert.equal(api.comments.length, 1);
  },
};

let failed = 0;
for (const [name, body] of Object.entries(cases)) {
  if (only.length && !only.includes(name)) continue;
  const began = Date.now();
  try {
    await body();
    console.log(`ok ${name} ${Date.now() - began} ms`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.message}\n${error.stack}`);
  }
}
try {
  execFileSync(steady, ['db', 'stop'], {
    env: { ...process.env, STEADY_STATE_DIR: path.join(root, 'state') },
    stdio: 'ignore',
  });
} catch {
  // it never ran
}
fs.rmSync(root, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
