-- Regression tracking: one series per question of the standing suite and machine, one point per
-- measured commit, one row per change of level with what people made of it.
set local role steady_owner;
set local search_path = steady, pg_temp;

create table series (
  series_id bigint generated always as identity primary key,
  name text unique not null check (name ~ '^[a-z0-9][a-z0-9-]{2,127}$'),  -- in the page's address
  watch text not null,                           -- id of the file in experiments/watch
  metric text not null,
  model text not null,
  claim text not null,
  host_id bigint not null references host,
  noise float8 not null default 0,               -- of one point, log units
  forge text not null default '',                -- https://forge/owner/repo, for links
  unique (watch, host_id));

create table series_point (
  point_id bigint generated always as identity primary key,
  series_id bigint not null references series,
  commit_sha text not null check (commit_sha ~ '^[0-9a-f]{40}$'),
  subject text not null default '',
  committed_at timestamptz not null,
  position int not null,                         -- number of commits before it on the first line
  exp_id bigint references experiment,           -- none: see failed
  ratio float8 check (ratio > 0 and ratio < 'Infinity'),  -- t(reference) / t(champion)
  low float8, high float8, pairs int not null default 0,
  champion_ns float8 not null default 0, reference_ns float8 not null default 0,
  machine text not null default '',              -- facts that make points comparable
  failed text not null default '',               -- why there is no ratio: it did not build or run
  measured_at timestamptz not null default clock_timestamp(),
  level float8,                                  -- median of its segment, of the last judgement
  check ((ratio is null) = (failed <> '')));
create index series_point_in_order on series_point (series_id, position, point_id);
create index series_point_by_experiment on series_point (exp_id);

create table series_change (
  change_id bigint generated always as identity primary key,
  series_id bigint not null references series,
  commit_sha text not null, before_sha text not null,
  shift float8 not null,                         -- log units, below zero is slower
  p float8 not null,
  cause text not null check (cause in ('code', 'reference', 'machine')),
  found_at timestamptz not null default clock_timestamp(),
  gone bool not null default false,              -- later points no longer show it
  state text not null default 'new' check (state in ('new', 'confirmed', 'ignored', 'fixed')),
  owner text not null default '' check (length(owner) <= 64),
  note text not null default '' check (length(note) <= 2000),
  triaged_at timestamptz);
create index series_change_of on series_change (series_id, change_id);

-- The page's one write here. Empty when there is no such change.
create function triage(p_change bigint, p_state text, p_owner text, p_note text) returns text
  language sql security definer set search_path = steady, pg_temp as $$
  update series_change set state = p_state, owner = p_owner, note = p_note,
    triaged_at = clock_timestamp()
  where change_id = p_change returning state
$$;
revoke execute on function triage from public;
grant execute on function triage to steady_web, steady_worker;
grant select on series, series_point, series_change to steady_worker, steady_web;

reset role;
