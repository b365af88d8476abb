-- What a service needs that a team leaves running: narrower rights, a log of who did what, verdicts
-- that are checked by somebody else than their worker, jobs that an outage does not poison, and the
-- figures that health and metrics show.
do $$
begin
  if not exists (select from pg_roles where rolname = 'steady_submitter') then
    begin
      create role steady_submitter nologin;
    exception
      when duplicate_object or unique_violation then null;  -- another database's migration
      when insufficient_privilege then
        raise exception 'role steady_submitter is missing and % may not create roles; run as an administrator: create role steady_submitter nologin; grant steady_submitter to %',
          current_user, current_user;
    end;
  end if;
  if not pg_has_role(current_user, 'steady_submitter', 'member') then
    grant steady_submitter to current_user;
  end if;
end $$;

set local role steady_owner;
set local search_path = steady, pg_temp;

-- --- who did what ---
create table audit_log (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  login text not null default session_user,      -- what the database knows
  actor text not null default coalesce(nullif(current_setting('steady.actor', true), ''), session_user),
  what text not null,
  subject text not null,                         -- an experiment's or a token's name
  detail text not null default '');
create index audit_by_subject on audit_log (subject, audit_id);
create trigger audit_append_only before update or delete on audit_log
  for each row execute function refuse_change();

-- Who a job belongs to, for the budget of made models: a token's name, a person, or the login.
alter table job add column submitter text not null
  default coalesce(nullif(current_setting('steady.actor', true), ''), session_user);

create function audit_job() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_name text;
  v_what text;
  v_detail text := '';
begin
  v_what := case
    when tg_op = 'INSERT' then 'submitted'
    when new.cancel_at is not null and old.cancel_at is null then 'cancelled'
    when new.state = 'queued' and old.state in ('failed', 'cancelled') then 'requeued'
    when new.priority <> old.priority then 'priority'
    when new.pin_host is null and old.pin_host is not null and new.state = old.state then 'unpinned'
    end;
  if v_what is null then
    return null;
  end if;
  if v_what = 'priority' then
    v_detail := format('%s to %s', old.priority, new.priority);
  end if;
  select name into v_name from experiment where exp_id = new.exp_id;
  insert into audit_log (what, subject, detail) values (v_what, v_name, v_detail);
  return null;
end $$;
create trigger job_submitted after insert on job for each row execute function audit_job();
-- Not on renewals, which set the lease alone.
create trigger job_changed after update of state, cancel_at, priority, pin_host on job
  for each row execute function audit_job();

create function audit_token() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  insert into audit_log (what, subject, detail) values (
    case when tg_op = 'INSERT' then 'token created'
      when tg_op = 'DELETE' then 'token deleted'
      when new.revoked_at is not null and old.revoked_at is null then 'token revoked'
      else 'token changed' end,
    case when tg_op = 'DELETE' then old.name else new.name end,
    case when tg_op = 'DELETE' then '' else array_to_string(new.scopes, ',') end);
  return null;
end $$;
create trigger token_changed after insert or update or delete on token
  for each row execute function audit_token();

create function audit_retention() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  insert into audit_log (what, subject, detail)
  select 'samples removed', e.name, new.body ->> 'why'
  from job j join experiment e using (exp_id) where j.job_id = new.job_id;
  return null;
end $$;
create trigger samples_removed after insert or update on evidence
  for each row when (new.kind = 'retention') execute function audit_retention();

-- --- verdicts are checked against their samples by the owner's side ---
create table verdict_check (
  job_id bigint primary key references job,
  says text not null default '',                 -- beside "the same": numbers of another version, …
  at timestamptz not null default clock_timestamp());
insert into verdict_check (job_id, says)
select job_id, 'stored before verdicts were checked' from verdict;

-- p_refuted: what the stored samples give instead. The verdict then leaves the record for evidence,
-- where it can still be read, and the job counts as failed.
create function check_verdict(p_job bigint, p_refuted text, p_says text) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_job job;
  v_verdict verdict;
begin
  select * into v_job from job where job_id = p_job for update;
  select * into v_verdict from verdict where job_id = p_job;
  if not found then
    raise exception 'job % has no verdict', p_job using errcode = 'ST005';
  end if;
  if coalesce(p_refuted, '') = '' then
    insert into verdict_check (job_id, says) values (p_job, coalesce(p_says, ''))
    on conflict do nothing;
    return;
  end if;
  insert into evidence (job_id, kind, epoch, body)
  values (p_job, 'refuted verdict', v_verdict.epoch, jsonb_build_object('outcome',
    v_verdict.outcome, 'reason', v_verdict.reason, 'analysis', v_verdict.analysis, 'samples_give',
    p_refuted))
  on conflict (job_id, kind, epoch) do update set body = excluded.body;
  delete from verdict where job_id = p_job;
  delete from verdict_check where job_id = p_job;
  delete from journal where job_id = p_job;
  update job set state = 'failed', note = format(
    'its worker stored the verdict %s, its samples give %s: refuted', v_verdict.outcome, p_refuted)
  where job_id = p_job;
  insert into audit_log (what, subject, detail)
  select 'verdict refuted', name, format('%s stored, %s from the samples', v_verdict.outcome,
    p_refuted) from experiment where exp_id = v_job.exp_id;
end $$;

-- --- journal entries ---
-- An entry lies in journal/ under its day and its experiment's name, and nowhere else: its path is
-- read back when experiments are exported and checked.
create or replace function set_journal_path(p_job bigint, p_path text) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_name text;
begin
  select name into v_name from experiment join job using (exp_id) where job_id = p_job;
  if p_path !~ '^journal/[0-9]{4}-[0-9]{2}-[0-9]{2}-[A-Za-z0-9._-]+\.md$' or p_path ~ '\.\.'
    or substr(p_path, 20) <> v_name || '.md' then
    raise exception 'journal path "%" is not journal/YYYY-MM-DD-%.md', left(p_path, 200), v_name
      using errcode = 'ST005';
  end if;
  insert into journal (job_id, kind, body) values (p_job, 'path', p_path)
  on conflict (job_id, kind) do update set body = excluded.body;
end $$;

-- An experiment that shall have no entry (--no-journal). Without this word and without a path, a
-- decided one's entry is missing: its worker died between verdict and file, or could not write.
create function decline_entry(p_job bigint) returns void
  language sql security definer set search_path = steady, pg_temp as $$
  insert into journal (job_id, kind, body) values (p_job, 'no entry', 'not wanted')
  on conflict do nothing
$$;
insert into journal (job_id, kind, body)
select job_id, 'no entry', 'from before missing entries were told apart' from verdict v
where not exists (select from journal l where l.job_id = v.job_id and l.kind = 'path');

-- --- the end of an attempt ---
-- postponed: the database or the host is in trouble that no repetition by the worker mends (a full
-- disk, a statement cut short). The job waits a minute and is not taken for a poisonous one.
create or replace function stop(p_job bigint, p_worker uuid, p_epoch bigint, p_how text, p_note text)
  returns job_state
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job := hold(p_job, p_worker, p_epoch);
begin
  if p_how not in ('released', 'postponed', 'crashed', 'failed', 'cancelled') then
    raise exception 'an attempt cannot end as %', p_how using errcode = 'ST005';
  end if;
  return end_attempt(p_job, p_how, left(p_note, 4000), case p_how
    when 'crashed' then make_interval(secs => 2 ^ (held.crashes + 1))
    when 'postponed' then interval '60 s' end);
end $$;

-- The caller holds the host's lock file, where its predecessors on this very machine left their ids:
-- they are dead, lease or not. Another machine may carry the same machine id (a cloned image), and
-- what its worker holds stays its own until the lease lapses.
drop function reclaim(bigint, uuid);
create function reclaim(p_host bigint, p_worker uuid, p_predecessors uuid[]) returns int
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  lost job;
  n int := 0;
begin
  for lost in select * from job
    where state = 'running' and host_id = p_host and worker <> p_worker
      and (worker = any (p_predecessors) or lease_until < clock_timestamp() - interval '200 ms')
    for update
  loop
    perform end_attempt(lost.job_id, 'crashed',
      format('worker %s ended without a word', lost.worker),
      make_interval(secs => 2 ^ lost.crashes - 1));  -- the first time at once
    n := n + 1;
  end loop;
  return n;
end $$;

-- --- what health and metrics show ---
alter table host add column free_bytes bigint;   -- on the disk of its worker's spool and models
create function report_host(p_host bigint, p_free bigint) returns void
  language sql security definer set search_path = steady, pg_temp as $$
  update host set free_bytes = p_free, seen_at = clock_timestamp() where host_id = p_host
$$;

create index attempt_by_end on attempt (ended desc);
create index job_failed on job (job_id) where state = 'failed';

create function service_state() returns table (o_queued bigint, o_running bigint, o_failed bigint,
    o_oldest_queued_s float8, o_lease_left_s float8, o_lease_overdue_s float8, o_lost_1h bigint,
    o_crashed_1h bigint, o_failed_1h bigint, o_postponed_1h bigint, o_unchecked bigint,
    o_missing_entries bigint, o_database_bytes bigint, o_replay_lag_s float8, o_connections bigint,
    o_host_free_bytes bigint)
  language sql stable security definer set search_path = steady, pg_temp as $$
  with queue as (
    select count(*) filter (where state = 'queued') as queued,
      count(*) filter (where state = 'running') as running,
      max(extract(epoch from clock_timestamp() - queued_at)) filter (where state = 'queued'
        and run_after <= clock_timestamp()) as oldest,
      min(extract(epoch from lease_until - clock_timestamp())) filter (where state = 'running') as lease
    from job where state in ('queued', 'running')),
  ended as (
    select count(*) filter (where how = 'lease lost') as lost,
      count(*) filter (where how = 'crashed') as crashed,
      count(*) filter (where how = 'failed') as failed,
      count(*) filter (where how = 'postponed') as postponed
    from attempt where ended > clock_timestamp() - interval '1 hour')
  select queued, running, (select count(*) from job where state = 'failed'),
    coalesce(oldest, 0)::float8, coalesce(greatest(lease, 0), 0)::float8,
    coalesce(greatest(-lease, 0), 0)::float8, lost, crashed, ended.failed, postponed,
    (select count(*) from verdict v where not exists (
      select from verdict_check c where c.job_id = v.job_id)),
    (select count(*) from verdict v where not exists (
      select from journal l where l.job_id = v.job_id and l.kind in ('path', 'no entry'))),
    pg_database_size(current_database()),
    case when pg_is_in_recovery() then coalesce(extract(epoch from
      clock_timestamp() - pg_last_xact_replay_timestamp()), 0) else 0 end::float8,
    (select count(*) from pg_stat_activity where application_name like 'steady/%'),
    (select min(free_bytes) from host where seen_at > clock_timestamp() - interval '1 day')
  from queue, ended
$$;

-- --- tokens, for those who may not read them ---
create function any_token() returns bool
  language sql stable security definer set search_path = steady, pg_temp as $$
  select exists (select from token where revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp()))
$$;
create function token_name(p_sha bytea) returns text
  language sql stable security definer set search_path = steady, pg_temp as $$
  select name from token where sha = p_sha
$$;

-- --- rights: each role does its own work ---
-- A worker measures: it neither submits, cancels nor judges what people found.
revoke execute on function hold, submit, cancel, requeue, triage from steady_worker;
grant execute on function reclaim, report_host, decline_entry to steady_worker;
-- The page submits, cancels and triages.
revoke execute on function requeue, rescue from steady_web;
grant execute on function service_state, any_token, token_name to steady_web;
-- A person's login that asks, waits and reads.
grant usage on schema steady to steady_submitter;
grant execute on function submit, cancel, requeue, set_priority, read_record, is_measurement
  to steady_submitter;
grant select on migration, host, experiment, job, attempt, pair, sample, evidence, aa_value, verdict,
  journal, series, series_point, series_change, official_sample, official_value, experiment_row
  to steady_submitter;
grant select on verdict_check to steady_worker, steady_web, steady_submitter;

reset role;
