-- Everything that a worker or the page may do. Each write of a worker goes through hold(), in the
-- same transaction: worker, epoch and an unexpired lease, by the database's clock.
-- ST001 the lease is lost · ST002 a replay with different values · ST003 the pair is sealed already
-- ST004 cancelled · ST005 the numbers do not add up · ST006 append-only
set local role steady_owner;
set local search_path = steady, pg_temp;

create function hold(p_job bigint, p_worker uuid, p_epoch bigint) returns job
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job;
begin
  select * into held from job
  where job_id = p_job and worker = p_worker and epoch = p_epoch and state = 'running'
    and lease_until > clock_timestamp()
  for update;
  if not found then
    raise exception 'job % is not held by worker % in epoch %', p_job, p_worker, p_epoch
      using errcode = 'ST001';
  end if;
  return held;
end $$;

create function register_host(p_name text, p_tags text[]) returns bigint
  language sql security definer set search_path = steady, pg_temp as $$
  insert into host (name, tags) values (p_name, p_tags)
  on conflict (name) do update set tags = excluded.tags, seen_at = clock_timestamp()
  returning host_id
$$;

create function submit(p_spec_id text, p_sha bytea, p_question bytea, p_spec text, p_seed numeric,
    p_fresh bool, p_priority int, p_tags text[], p_gates int[], p_kinds text[], p_numbers int[],
    p_coins text[])
  returns table (o_name text, o_job bigint, o_created bool, o_state job_state)
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_rerun int := 0;
  v_exp bigint;
  v_job bigint;
  v_name text;
begin
  if p_fresh then
    perform pg_advisory_xact_lock(hashtextextended('steady.submit' || encode(p_sha, 'hex'), 0));
    select coalesce(max(rerun_no) + 1, 0) into v_rerun from experiment where spec_sha = p_sha;
  end if;
  v_name := p_spec_id || '-' || left(encode(p_sha, 'hex'), 8)
    || case when v_rerun > 0 then '-' || (v_rerun + 1) else '' end;
  insert into experiment (name, spec_id, spec_sha, rerun_no, question_sha, parent, spec, spec_text, seed)
  values (v_name, p_spec_id, p_sha, v_rerun, p_question,
    (select max(exp_id) from experiment where spec_id = p_spec_id and spec_sha <> p_sha),
    p_spec::jsonb, p_spec, p_seed)
  on conflict do nothing                        -- any of its unique keys: names collide first
  returning exp_id into v_exp;
  if v_exp is null then
    -- the latest run of the same file answers for it
    return query select e.name, j.job_id, false, j.state
      from experiment e join job j using (exp_id)
      where e.spec_sha = p_sha order by e.rerun_no desc limit 1;
    if not found then
      raise exception 'the name % is taken by another spec', v_name using errcode = 'ST005';
    end if;
    return;
  end if;
  insert into job (exp_id, priority, need_tags) values (v_exp, p_priority, p_tags)
  returning job_id into v_job;
  insert into pair (job_id, gate, kind, pair_no, try, coins)
  select v_job, g, k::pair_kind, n, 0, c::varbit
  from unnest(p_gates, p_kinds, p_numbers, p_coins) as planned(g, k, n, c);
  perform pg_notify('steady_jobs', '');
  return query select v_name, v_job, true, 'queued'::job_state;
end $$;

create function claim(p_worker uuid, p_host bigint, p_ttl interval, p_only bigint default null)
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
  where state = 'queued' and run_after <= clock_timestamp() and need_tags <@ v_tags
    and (pin_host is null or pin_host = p_host) and (p_only is null or job_id = p_only)
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

-- True: somebody asked for the job to stop.
create function renew(p_job bigint, p_worker uuid, p_epoch bigint, p_ttl interval) returns bool
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job := hold(p_job, p_worker, p_epoch);
begin
  update job set lease_until = clock_timestamp() + p_ttl where job_id = p_job;
  return held.cancel_at is not null;
end $$;

-- Earlier epochs' machine against this one's: the keys that differ. Empty: resume is allowed.
create function put_fingerprint(p_job bigint, p_worker uuid, p_epoch bigint, p_print jsonb)
  returns text[]
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_before jsonb;
begin
  perform hold(p_job, p_worker, p_epoch);
  update attempt set fingerprint = p_print where job_id = p_job and epoch = p_epoch;
  select a.fingerprint into v_before from attempt a
  where a.job_id = p_job and a.epoch < p_epoch and a.fingerprint is not null
    and exists (select from pair p where p.job_id = p_job and p.epoch = a.epoch)
  order by a.epoch desc limit 1;
  return (select coalesce(array_agg(key order by key), '{}')
    from jsonb_each_text(coalesce(v_before, p_print)) x full join jsonb_each_text(p_print) y using (key)
    where x.value is distinct from y.value);
end $$;

create function put_samples(p_job bigint, p_worker uuid, p_epoch bigint, p_gate int, p_kind text,
    p_number int, p_try int, p_arms text[], p_metrics text[], p_vals text[]) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  perform hold(p_job, p_worker, p_epoch);
  insert into sample (job_id, gate, kind, pair_no, try, epoch, arm, metric, vals)
  select p_job, p_gate, p_kind::pair_kind, p_number, p_try, p_epoch, a, m, v::float8[]
  from unnest(p_arms, p_metrics, p_vals) as given(a, m, v)
  on conflict do nothing;
  if exists (
    select from unnest(p_arms, p_metrics, p_vals) as given(a, m, v) join sample s
      on (s.job_id, s.gate, s.kind, s.pair_no, s.try, s.epoch, s.arm, s.metric)
       = (p_job, p_gate, p_kind::pair_kind, p_number, p_try, p_epoch, a, m)
    where s.vals is distinct from v::float8[]) then
    raise exception 'pair % of job % was stored before with other values', p_number, p_job
      using errcode = 'ST002';
  end if;
end $$;

create function seal_pair(p_job bigint, p_worker uuid, p_epoch bigint, p_gate int, p_kind text,
    p_number int, p_try int, p_rows int, p_discarded text, p_next_coins text) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job := hold(p_job, p_worker, p_epoch);
  v_pair pair;
  v_rows int;
  v_unequal int;
begin
  select * into v_pair from pair where (job_id, gate, kind, pair_no, try)
    = (p_job, p_gate, p_kind::pair_kind, p_number, p_try) for update;
  if not found then
    raise exception 'job % has no % pair % (try %) in gate %', p_job, p_kind, p_number, p_try, p_gate
      using errcode = 'ST005';
  end if;
  if v_pair.done_at is not null then
    if v_pair.epoch = p_epoch and v_pair.discarded is not distinct from p_discarded then
      return;  -- the answer to the first commit was lost
    end if;
    raise exception 'pair % of job % is sealed', p_number, p_job using errcode = 'ST003';
  end if;
  select count(*), count(*) filter (where twins <> 2 or lengths <> 1) into v_rows, v_unequal
  from (select count(*) over same as twins,
      max(cardinality(vals)) over same - min(cardinality(vals)) over same + 1 as lengths
    from sample where (job_id, gate, kind, pair_no, try, epoch)
      = (p_job, p_gate, p_kind::pair_kind, p_number, p_try, p_epoch)
    window same as (partition by metric)) counted;
  if v_rows <> p_rows or (p_discarded is null and (v_rows = 0 or v_unequal > 0)) then
    raise exception 'pair % of job %: % rows stored, % announced, % without an equal twin',
      p_number, p_job, v_rows, p_rows, v_unequal using errcode = 'ST005';
  end if;
  update pair set epoch = p_epoch, host_id = held.host_id, done_at = clock_timestamp(),
    discarded = p_discarded
  where (job_id, gate, kind, pair_no, try) = (p_job, p_gate, p_kind::pair_kind, p_number, p_try);
  if p_discarded is not null and p_next_coins is not null and p_try < 2 then
    insert into pair (job_id, gate, kind, pair_no, try, coins)
    values (p_job, p_gate, p_kind::pair_kind, p_number, p_try + 1, p_next_coins::varbit)
    on conflict do nothing;
  end if;
  if held.crashes > 0 then
    update job set crashes = 0 where job_id = p_job;  -- progress: not a poison job
  end if;
end $$;

create function put_evidence(p_job bigint, p_worker uuid, p_epoch bigint, p_kind text, p_body jsonb)
  returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  perform hold(p_job, p_worker, p_epoch);
  insert into evidence (job_id, kind, epoch, body) values (p_job, p_kind, p_epoch, p_body)
  on conflict (job_id, kind, epoch) do update set body = excluded.body;
end $$;

create function put_aa(p_job bigint, p_worker uuid, p_epoch bigint, p_gate int, p_metric text,
    p_mode text, p_numbers int[], p_d float8[]) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job := hold(p_job, p_worker, p_epoch);
begin
  insert into aa_value (job_id, gate, metric, pair_no, host_id, mode, d)
  select p_job, p_gate, p_metric, n, held.host_id, p_mode, v
  from unnest(p_numbers, p_d) as given(n, v)
  on conflict do nothing;
end $$;

create function finish(p_job bigint, p_worker uuid, p_epoch bigint, p_outcome text, p_reason text,
    p_analysis jsonb, p_sentence text) returns void
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

-- The end of an attempt without a verdict, shared by stop, rescue and reclaim. The caller has
-- locked the job. Deletes nothing.
create function end_attempt(p_job bigint, p_how text, p_note text, p_back_off interval)
  returns job_state
  language plpgsql set search_path = steady, pg_temp as $$
declare
  v_job job;
  v_state job_state;
  v_crashes int;
begin
  select * into v_job from job where job_id = p_job;
  v_crashes := v_job.crashes + case when p_how in ('crashed', 'lease lost') then 1 else 0 end;
  v_state := case
    when v_job.cancel_at is not null or p_how = 'cancelled' then 'cancelled'
    when p_how = 'failed' or v_crashes >= v_job.max_crashes then 'failed'
    else 'queued' end;
  update attempt set ended = clock_timestamp(), how = p_how
  where job_id = p_job and epoch = v_job.epoch;
  update job set state = v_state, worker = null, host_id = null, lease_until = null,
    crashes = v_crashes, note = coalesce(p_note, note),
    run_after = clock_timestamp() + coalesce(p_back_off, '0'),
    pin_host = case when exists (select from pair where job_id = p_job and done_at is not null)
      then pin_host end                            -- nothing measured yet: any host will do
  where job_id = p_job;
  return v_state;
end $$;

-- p_how: released (the worker shuts down), crashed, failed, cancelled.
create function stop(p_job bigint, p_worker uuid, p_epoch bigint, p_how text, p_note text)
  returns job_state
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job := hold(p_job, p_worker, p_epoch);
begin
  if p_how not in ('released', 'crashed', 'failed', 'cancelled') then
    raise exception 'an attempt cannot end as %', p_how using errcode = 'ST005';
  end if;
  return end_attempt(p_job, p_how, left(p_note, 4000),
    case when p_how = 'crashed' then make_interval(secs => 2 ^ (held.crashes + 1)) end);
end $$;

-- Jobs whose lease has lapsed go back to the queue. Called by everybody who polls.
create function rescue() returns int
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  lost job;
  n int := 0;
begin
  for lost in select * from job
    where state = 'running' and lease_until < clock_timestamp() - interval '200 ms'
    for update skip locked
  loop
    perform end_attempt(lost.job_id, 'lease lost',
      format('worker %s did not renew its lease', lost.worker),
      make_interval(secs => 2 ^ (lost.crashes + 1)));
    n := n + 1;
  end loop;
  return n;
end $$;

-- The caller holds the host's lock file: whoever ran here before is dead, lease or not.
create function reclaim(p_host bigint, p_worker uuid) returns int
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  lost job;
  n int := 0;
begin
  for lost in select * from job
    where state = 'running' and host_id = p_host and worker <> p_worker for update
  loop
    perform end_attempt(lost.job_id, 'crashed',
      format('worker %s ended without a word', lost.worker),
      make_interval(secs => 2 ^ lost.crashes - 1));  -- the first time at once
    n := n + 1;
  end loop;
  return n;
end $$;

create function cancel(p_job bigint) returns job_state
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_state job_state;
begin
  update job set state = case when state = 'queued' then 'cancelled'::job_state else state end,
    cancel_at = coalesce(cancel_at, clock_timestamp())
  where job_id = p_job and state in ('queued', 'running');
  select state into v_state from job where job_id = p_job;
  return v_state;
end $$;

-- A failed or cancelled job may run again; its sealed pairs stay.
create function requeue(p_job bigint) returns job_state
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_state job_state;
begin
  update job set state = 'queued', cancel_at = null, crashes = 0, run_after = clock_timestamp(),
    queued_at = clock_timestamp()
  where job_id = p_job and state in ('failed', 'cancelled');
  select state into v_state from job where job_id = p_job;
  perform pg_notify('steady_jobs', '');
  return v_state;
end $$;

create function set_journal_path(p_job bigint, p_path text) returns void
  language sql security definer set search_path = steady, pg_temp as $$
  insert into journal (job_id, kind, body) values (p_job, 'path', p_path)
  on conflict (job_id, kind) do update set body = excluded.body
$$;

create function token_scopes(p_sha bytea) returns text[]
  language sql stable security definer set search_path = steady, pg_temp as $$
  select scopes from token where sha = p_sha and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp())
$$;

reset role;
