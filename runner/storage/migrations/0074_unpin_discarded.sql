-- What a host discarded leaves with it too. Its discarded tries used to stay, and the next host went
-- on behind them: the pairs that had been set aside were never measured again, and no verdict could
-- be stored.
set local role steady_owner;
set local search_path = steady, pg_temp;

create or replace function unpin(p_job bigint) returns int
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
  update pair set epoch = null, host_id = null, done_at = null, discarded = null
  where job_id = p_job and discarded is not null;
  update evidence set kind = left(kind, 40) || ' of epoch ' || epoch
  where job_id = p_job and kind not like '% of epoch %' and kind not in ('origin', 'retention');
  if n > 0 then
    update job set note = concat_ws('; ', note,
      format('%s pairs of host %s no longer count: unpinned', n, v_host))
    where job_id = p_job;
  end if;
  update job set pin_host = null where job_id = p_job;
  return n;
end $$;

-- A try that an unpinned host opened is nobody's hole once another try of its pair counts.
create or replace function finish(p_job bigint, p_worker uuid, p_epoch bigint, p_outcome text,
    p_reason text, p_analysis jsonb, p_sentence text) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job;
  v_hole record;
begin
  if exists (select from verdict v join attempt a using (job_id, epoch)
      where job_id = p_job and epoch = p_epoch and worker = p_worker and outcome = p_outcome) then
    return;  -- the answer to the first commit was lost
  end if;
  held := hold(p_job, p_worker, p_epoch);
  if held.cancel_at is not null then
    raise exception 'job % was cancelled', p_job using errcode = 'ST004';
  end if;
  select p.gate, p.pair_no into v_hole from pair p
  where p.job_id = p_job and p.done_at is null and p.kind = 'measure'
    and exists (select from pair later where later.job_id = p_job and later.gate = p.gate
      and later.kind = 'measure' and later.pair_no > p.pair_no and later.done_at is not null)
    and not exists (select from pair good where good.job_id = p_job and good.gate = p.gate
      and good.kind = 'measure' and good.pair_no = p.pair_no and good.done_at is not null
      and good.discarded is null)
  limit 1;
  if found then
    raise exception 'job %: pair % of gate % was skipped', p_job, v_hole.pair_no, v_hole.gate
      using errcode = 'ST005';
  end if;
  insert into verdict (job_id, outcome, reason, analysis, epoch)
  values (p_job, p_outcome, nullif(p_reason, ''), p_analysis, p_epoch);
  insert into journal (job_id, kind, body) values (p_job, 'verdict', p_sentence);
  update attempt set ended = clock_timestamp(), how = 'done' where job_id = p_job and epoch = p_epoch;
  update job set state = 'done', worker = null, host_id = null, lease_until = null, note = null
  where job_id = p_job;
end $$;

reset role;
