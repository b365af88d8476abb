-- Leaving a host, which differences between two epochs matter, and retention.
set local role steady_owner;
set local search_path = steady, pg_temp;

-- The runner's own revision measures nothing, so it may change between epochs; and a machine of
-- which no pair counts any more binds nobody.
create or replace function put_fingerprint(p_job bigint, p_worker uuid, p_epoch bigint,
    p_print jsonb) returns text[]
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_before jsonb;
begin
  perform hold(p_job, p_worker, p_epoch);
  update attempt set fingerprint = p_print where job_id = p_job and epoch = p_epoch;
  select a.fingerprint into v_before from attempt a
  where a.job_id = p_job and a.epoch < p_epoch and a.fingerprint is not null
    and exists (select from pair p where p.job_id = p_job and p.epoch = a.epoch
      and p.discarded is null)
  order by a.epoch desc limit 1;
  return (select coalesce(array_agg(key order by key), '{}')
    from jsonb_each_text(coalesce(v_before, p_print) - 'steady_revision') x
      full join jsonb_each_text(p_print - 'steady_revision') y using (key)
    where x.value is distinct from y.value);
end $$;

-- The host is gone for good: its pairs no longer count, their samples stay as those of a dead
-- epoch, and any host may measure them anew in the same drawn order. What was gathered beside the
-- pairs belongs to that machine too and steps aside. Returns how many pairs that were; 0 changes
-- nothing. The note tells it to whoever reads the record.
create function unpin(p_job bigint) returns int
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_job job;
  v_host text;
  n int;
begin
  select * into v_job from job where job_id = p_job for update;
  if not found or v_job.state not in ('queued', 'failed', 'cancelled') then
    raise exception 'job % is %: only a waiting, failed or cancelled job leaves its host', p_job,
      coalesce(v_job.state::text, 'unknown') using errcode = 'ST005';
  end if;
  select name into v_host from host where host_id = v_job.pin_host;
  update pair set epoch = null, host_id = null, done_at = null
  where job_id = p_job and done_at is not null and discarded is null;
  get diagnostics n = row_count;
  if n > 0 then
    update evidence set kind = left(kind, 40) || ' of epoch ' || epoch
    where job_id = p_job and kind not like '% of epoch %';
    update job set note = concat_ws('; ', note,
      format('%s pairs of host %s no longer count: unpinned', n, v_host))
    where job_id = p_job;
  end if;
  update job set pin_host = null where job_id = p_job;
  return n;
end $$;

-- Removes samples that nobody decides on any more, and leaves word of it (evidence `retention`).
-- p_why: undecided (a job that ended without a verdict: it would measure anew), superseded (a later
-- run of the same file has a verdict; this one's stands, and cannot be recomputed), dead epochs
-- (values that never counted). Returns the number of rows.
create function drop_samples(p_job bigint, p_why text) returns bigint
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_job job;
  n bigint;
begin
  select * into v_job from job where job_id = p_job for update;
  if v_job.state in ('queued', 'running') then
    raise exception 'job % is %: its samples are needed', p_job, v_job.state using errcode = 'ST005';
  end if;
  if p_why not in ('undecided', 'superseded', 'dead epochs') then
    raise exception 'samples are not removed because of %', p_why using errcode = 'ST005';
  end if;
  perform set_config('steady.retention', 'on', true);
  if p_why = 'undecided' then
    perform unpin(p_job);
  end if;
  delete from sample s where job_id = p_job and (p_why <> 'dead epochs' or not exists (
    select from pair p where (p.job_id, p.gate, p.kind, p.pair_no, p.try, p.epoch)
      = (s.job_id, s.gate, s.kind, s.pair_no, s.try, s.epoch)));
  get diagnostics n = row_count;
  perform set_config('steady.retention', 'off', true);
  insert into evidence (job_id, kind, epoch, body)
  values (p_job, 'retention', v_job.epoch, jsonb_build_object('why', p_why, 'rows', n))
  on conflict (job_id, kind, epoch) do update set body = excluded.body, at = clock_timestamp();
  return n;
end $$;

-- What 0004 meant: a default per schema can only add to the global one, so functions made since then
-- were open to everybody.
revoke execute on all functions in schema steady from public;
alter default privileges for role steady_owner revoke execute on functions from public;

reset role;
