-- Programs that are no part of this project: counts may be zero, a build may fail, and a job that
-- `run` or `ab` queued for itself is its own.
set local role steady_owner;
set local search_path = steady, pg_temp;

create or replace function is_measurement(float8[]) returns bool
  language sql immutable strict parallel safe
  return cardinality($1) > 0 and array_ndims($1) = 1 and 0 <= all ($1) and 'Infinity' > all ($1);

alter table verdict drop constraint verdict_reason_check;
alter table verdict add constraint verdict_reason_check check (reason in ('regression',
  'no_worthwhile_gain', 'wrong_output', 'unstable', 'guard_failed', 'micro_only',
  'machine_too_noisy', 'applied_evidence_missing', 'undeclared_difference', 'nothing_measured',
  'shown_equivalent', 'build_failed', 'baseline_failed'));

-- Whoever names the job takes it now and whatever its tags: `run` on the host where it is asked. All
-- others wait for run_after, which `run` sets ahead while it is about to take the job itself.
create or replace function claim(p_worker uuid, p_host bigint, p_ttl interval,
    p_only bigint default null)
  returns table (o_job bigint, o_epoch bigint, o_name text)
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_job bigint;
  v_epoch bigint;
  v_tags text[];
begin
  perform pg_advisory_xact_lock(hashtext('steady.claim'), p_host::int);
  return query select j.job_id, j.epoch, e.name from job j join experiment e using (exp_id)
    where j.state = 'running' and j.worker = p_worker and j.lease_until > clock_timestamp();
  if found then
    return;  -- the answer to the first claim was lost
  end if;
  update host set seen_at = clock_timestamp() where host_id = p_host and not draining
  returning tags || name into v_tags;
  if not found or exists (select from job where state = 'running' and host_id = p_host) then
    return;
  end if;
  select job_id into v_job from job
  where state = 'queued' and (pin_host is null or pin_host = p_host)
    and (job_id = p_only
      or (p_only is null and run_after <= clock_timestamp() and need_tags <@ v_tags))
  order by priority + extract(epoch from clock_timestamp() - queued_at) / 1800 desc, job_id
  limit 1 for update skip locked;
  if not found then
    return;
  end if;
  update job set state = 'running', epoch = epoch + 1, worker = p_worker, host_id = p_host,
    pin_host = p_host, lease_until = clock_timestamp() + p_ttl
  where job_id = v_job returning epoch into v_epoch;
  insert into attempt (job_id, epoch, worker, host_id) values (v_job, v_epoch, p_worker, p_host);
  return query select v_job, v_epoch, name from experiment join job using (exp_id)
    where job_id = v_job;
end $$;

-- Lists name what was measured, whatever kind of program it is.
alter table experiment drop column model;
alter table experiment add column model text generated always as (coalesce(
  spec #>> '{subject,model}', spec #>> '{subject,name}', spec #>> '{subject,repo}')) stored;

reset role;
