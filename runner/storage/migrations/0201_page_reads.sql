-- An experiment's page in fewer answers. What it asked for by statements of their own comes with the
-- record: the run's id, whether a check of the verdict is stored, whether call stacks are. Each of them
-- took longer to plan and to send than to look up, and the stacks were read to see whether they exist.
set local role steady_owner;
set local search_path = steady, pg_temp;

drop function read_record(text);
create function read_record(p_name text)
  returns table (job_id bigint, rerun int, state job_state, note text, spec_text text, question text,
    seed text, submitted text, decided text, analysis jsonb, seconds float8, path text,
    attempts json, earlier json, evidence json, run_id text, checked bool, sampled bool)
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
    ran.attempts, known.earlier, found.evidence, e.run_id,
    exists (select from verdict_check c where c.job_id = j.job_id), found.sampled
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
    select coalesce(json_object_agg(o.kind, o.body) filter (where o.kind <> 'stacks'), '{}')
        as evidence,
      max(o.body ->> 'earlier') filter (where o.kind = 'origin') as brought,
      coalesce(bool_or(o.kind = 'stacks'), false) as sampled
    from (select distinct on (i.kind) i.kind, i.body from evidence i where i.job_id = j.job_id
      order by i.kind, i.epoch desc) o) found
  cross join lateral (  -- an imported experiment brought its list with it
    select coalesce(found.brought::json, (select json_agg(x.name order by x.exp_id)
      from experiment x where x.question_sha = e.question_sha and x.exp_id < e.exp_id), '[]')
      as earlier) known
  where e.name = p_name;
end $$;

-- The pairs of a job in the order in which they were committed, one row each, with the samples that
-- count: whose they are, what was measured, and the values of each, '{...}{...}'. A row for every sample
-- (pairs_of, which stays for workers that are older than this) takes longer to sort, send and read.
create function paired_samples(p_job bigint, p_open bool) returns table (gate smallint,
    kind pair_kind, pair_no int, try smallint, coins text, discarded text, sealed bool, arms text[],
    metrics text[], vals text)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query select p.gate, p.kind, p.pair_no, p.try, p.coins::text, p.discarded,
    p.done_at is not null, s.arms, s.metrics, s.vals
  from steady.pair p cross join lateral (
    select array_agg(i.arm) as arms, array_agg(i.metric) as metrics,
      string_agg(i.vals::text, '') as vals
    from steady.sample i where i.job_id = p.job_id and i.gate = p.gate and i.kind = p.kind
      and i.pair_no = p.pair_no and i.try = p.try and i.epoch = p.epoch
      and p.done_at is not null) s
  where p.job_id = p_job and (p_open or p.done_at is not null)
  order by p.done_at nulls last, p.gate, p.kind, p.pair_no, p.try;
end $$;
grant execute on function read_record, paired_samples
  to steady_worker, steady_web, steady_submitter;

reset role;
