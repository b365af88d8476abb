-- The tables. What each is for, how they grow and why they look so: runner/storage/schema.md.
set local role steady_owner;
set local search_path = steady, pg_temp;

create type job_state as enum ('queued', 'running', 'done', 'failed', 'cancelled');
create type pair_kind as enum ('measure', 'aa', 'control', 'warmup');

create table host (
  host_id bigint generated always as identity primary key,
  name text unique not null,                     -- hash of the machine id, never the host name
  tags text[] not null default '{}',
  draining bool not null default false,
  seen_at timestamptz not null default clock_timestamp());

create table experiment (
  exp_id bigint generated always as identity primary key,
  name text unique not null,                     -- <spec id>-<8 hex of spec_sha>[-<rerun_no + 1>]
  spec_id text not null,
  spec_sha bytea not null check (octet_length(spec_sha) = 32),
  rerun_no int not null default 0,
  question_sha bytea not null check (octet_length(question_sha) = 32),
  parent bigint references experiment,           -- the experiment that this one is a change of
  spec jsonb not null,                           -- for queries
  spec_text text not null,                       -- canonical bytes: what spec_sha is the hash of
  seed numeric(20) not null check (seed between 0 and 18446744073709551615),
  submitted_at timestamptz not null default clock_timestamp(),
  unique (spec_sha, rerun_no));
create index experiment_by_spec on experiment (spec_id, exp_id);
create index experiment_by_question on experiment (question_sha, exp_id);

create table job (
  job_id bigint generated always as identity primary key,
  exp_id bigint unique not null references experiment,
  state job_state not null default 'queued',
  priority smallint not null default 0 check (priority between -100 and 100),
  need_tags text[] not null default '{}',
  pin_host bigint references host,
  queued_at timestamptz not null default clock_timestamp(),
  run_after timestamptz not null default clock_timestamp(),
  crashes int not null default 0,                -- in a row, without a sealed pair between
  max_crashes int not null default 5,
  epoch bigint not null default 0,               -- the fencing number
  worker uuid,
  host_id bigint references host,
  lease_until timestamptz,
  cancel_at timestamptz,
  note text,
  check ((state = 'running') =
         (worker is not null and host_id is not null and lease_until is not null)))
  with (fillfactor = 50);
create unique index job_one_per_host on job (host_id) where state = 'running';
create index job_ready on job (priority desc, job_id) where state = 'queued';

create table attempt (
  job_id bigint references job,
  epoch bigint,
  worker uuid not null,
  host_id bigint not null references host,
  fingerprint jsonb,
  began timestamptz not null default clock_timestamp(),
  ended timestamptz,
  how text,
  primary key (job_id, epoch));

create table pair (
  job_id bigint references job,
  gate smallint,
  kind pair_kind,
  pair_no int,
  try smallint default 0,
  coins bit varying(512) not null check (length(coins) >= 1),  -- 0: A first; one per block
  epoch bigint,
  host_id bigint,
  done_at timestamptz,                           -- sealed
  discarded text,                                -- reason, chosen without looking at the arms
  primary key (job_id, gate, kind, pair_no, try));

create function is_measurement(float8[]) returns bool
  language sql immutable strict parallel safe
  return cardinality($1) > 0 and array_ndims($1) = 1 and 0 < all ($1) and 'Infinity' > all ($1);

create table sample (
  job_id bigint,
  gate smallint,
  pair_no int,
  try smallint,
  kind pair_kind,
  epoch bigint not null,
  arm text check (arm in ('A', 'B', 'B0')),
  metric text check (length(metric) between 1 and 64),
  vals float8[] not null check (is_measurement(vals)),   -- by rep; NaN is not below infinity
  primary key (job_id, gate, kind, pair_no, try, arm, metric, epoch),
  foreign key (job_id, gate, kind, pair_no, try) references pair);

create function refuse_change() returns trigger language plpgsql as $$
begin
  if current_setting('steady.retention', true) is distinct from 'on' then
    raise exception '% is append-only', tg_table_name using errcode = 'ST006';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger sample_append_only before update or delete on sample
  for each row execute function refuse_change();

create table evidence (
  job_id bigint references job,
  kind text check (length(kind) between 1 and 64),  -- applied, correctness, profile, …
  epoch bigint,
  body jsonb not null,
  at timestamptz not null default clock_timestamp(),
  primary key (job_id, kind, epoch));

create table aa_value (                          -- what A against A showed: a host's own noise
  job_id bigint references job,
  gate smallint,
  metric text,
  pair_no int,
  host_id bigint not null references host,
  mode text not null,
  d float8 not null check (d between -100 and 100),
  at timestamptz not null default clock_timestamp(),
  primary key (job_id, gate, metric, pair_no));
create index aa_by_host on aa_value (host_id, metric, mode, at desc);

create table verdict (
  job_id bigint primary key references job,      -- twice is impossible, not unlikely
  outcome text not null check (outcome in ('accept', 'reject', 'inconclusive', 'invalid')),
  reason text check (reason in ('regression', 'no_worthwhile_gain', 'wrong_output', 'unstable',
    'guard_failed', 'micro_only', 'machine_too_noisy', 'applied_evidence_missing',
    'undeclared_difference', 'nothing_measured', 'shown_equivalent')),
  analysis jsonb not null,
  epoch bigint not null,
  at timestamptz not null default clock_timestamp());
create index verdict_by_time on verdict (at desc);

create table journal (
  entry_id bigint generated always as identity primary key,
  job_id bigint references job,
  kind text not null,                            -- verdict: the sentence; path: the entry's file
  body text not null,
  unique (job_id, kind));

create table token (
  token_id bigint generated always as identity primary key,
  name text unique not null,
  sha bytea unique not null check (octet_length(sha) = 32),
  scopes text[] not null check (scopes <@ array['read', 'submit', 'cancel', 'admin']),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz);

create view official_sample as
  select s.* from sample s join pair p using (job_id, gate, kind, pair_no, try)
  where s.epoch = p.epoch and p.done_at is not null and p.discarded is null;

create view official_value as                    -- one row per measured value
  select job_id, gate, kind, pair_no, try, arm, metric, rep::int, value
  from official_sample, unnest(vals) with ordinality as v(value, rep);

create view experiment_row as
  select e.exp_id, e.name, e.spec_id, e.spec ->> 'owner' as owner,
    e.spec #>> '{hypothesis,claim}' as claim, e.spec #>> '{subject,model}' as model,
    e.submitted_at, j.job_id, j.state, j.priority, j.note, j.cancel_at,
    coalesce(h.name, p.name) as host, v.outcome, v.reason, v.analysis, v.at as decided_at,
    encode(e.question_sha, 'hex') as question
  from experiment e join job j using (exp_id) left join verdict v using (job_id)
    left join host h on h.host_id = j.host_id left join host p on p.host_id = j.pin_host;

reset role;
