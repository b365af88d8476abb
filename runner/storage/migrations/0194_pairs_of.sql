-- An experiment's page in less time. Pairs come with their samples in one answer, and who_did becomes a
-- function of a language that keeps its plan for the session (0193).
set local role steady_owner;
set local search_path = steady, pg_temp;

-- The pairs of a job in the order in which they were committed, each as often as it has samples that
-- count, or once without any; p_open: also pairs that are not committed. samples_of stays for workers
-- that are older than this.
create function pairs_of(p_job bigint, p_open bool) returns table (gate smallint, kind pair_kind,
    pair_no int, try smallint, coins text, discarded text, sealed bool, arm text, metric text,
    vals float8[])
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query select p.gate, p.kind, p.pair_no, p.try, p.coins::text, p.discarded,
    p.done_at is not null, s.arm, s.metric, s.vals
  from steady.pair p left join steady.sample s on s.job_id = p.job_id and s.gate = p.gate
    and s.kind = p.kind and s.pair_no = p.pair_no and s.try = p.try and s.epoch = p.epoch
    and p.done_at is not null
  where p.job_id = p_job and (p_open or p.done_at is not null)
  order by p.done_at nulls last, p.gate, p.kind, p.pair_no, p.try;
end $$;
grant execute on function pairs_of to steady_worker, steady_web, steady_submitter;

create or replace function who_did(p_subject text)
    returns table (at timestamptz, actor text, what text, detail text)
  language plpgsql stable security definer set search_path = steady, pg_temp as $$
#variable_conflict use_column
begin
  return query select a.at, a.actor, a.what, a.detail from audit_log a
  where a.subject = p_subject and a.what in ('submitted', 'cancelled', 'requeued', 'priority',
    'unpinned') order by a.audit_id limit 100;
end $$;

reset role;
