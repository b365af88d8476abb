-- An experiment's page in less time. What read_record put together as jsonb was only written out as
-- text again: json is text from the start. Pairs come with their samples in one answer. who_did
-- becomes a function of a language that keeps its plan for the session (0193).
set local role steady_owner;
set local search_path = steady, pg_temp;

drop function read_record(text);
create function read_record(p_name text)
  returns table (job_id bigint, rerun int, state job_state, note text, spec_text text, question text,
    seed text, submitted text, decided text, analysis jsonb, seconds float8, path text,
    attempts json, earlier json, evidence json)
  language plpgsql stable set search_path = steady, pg_temp as $$
#variable_conflict use_column
declare
  c_time constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  return query
  select j.job_id, e.rerun_no::int, j.state, j.note, e.spec_text, encode(e.question_sha, 'hex'),
    e.seed::text, to_char(e.submitted_at at time zone 'utc', c_time),
    to_char(v.at at time zone 'utc', c_time), v.analysis, ran.seconds,
    (select l.body from journal l where l.job_id = j.job_id and l.kind = 'path'),
    ran.attempts, known.earlier, found.evidence
  from experiment e join job j using (exp_id) left join verdict v using (job_id)
  cross join lateral (
    select coalesce(sum(extract(epoch from coalesce(a.ended, clock_timestamp()) - a.began)), 0)
        ::float8 as seconds,
      coalesce(json_agg(json_build_object('epoch', a.epoch, 'worker', a.worker, 'host', h.name,
        'fingerprint', a.fingerprint, 'began', to_char(a.began at time zone 'utc', c_time),
        'ended', to_char(a.ended at time zone 'utc', c_time), 'how', a.how) order by a.epoch), '[]')
        as attempts
    from attempt a join host h using (host_id) where a.job_id = j.job_id) ran
  cross join lateral (
    select coalesce(json_object_agg(o.kind, o.body), '{}') as evidence,
      max(o.body ->> 'earlier') filter (where o.kind = 'origin') as brought
    from (select distinct on (i.kind) i.kind, i.body from evidence i where i.job_id = j.job_id
      order by i.kind, i.epoch desc) o) found
  cross join lateral (  -- an imported experiment brought its list with it
    select coalesce(found.brought::json, (select json_agg(x.name order by x.exp_id)
      from experiment x where x.question_sha = e.question_sha and x.exp_id < e.exp_id), '[]')
      as earlier) known
  where e.name = p_name;
end $$;
grant execute on function read_record to steady_worker, steady_web, steady_submitter;

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
