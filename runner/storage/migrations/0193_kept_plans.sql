-- Reads of an experiment's page as functions, since a session keeps the plans of their statements: to
-- plan one takes one to four times as long as to run it.
set local role steady_owner;
set local search_path = steady, pg_temp;

-- Every run of the questions p_questions (hex), the oldest first, at most p_most of each: those in
-- this database, and the shipped records that are not.
-- = any (array(...)), not in (...): the array is computed once and looked up by index; a join would
-- read every experiment there is.
create function runs_of(p_questions text[], p_most int) returns table (
    question text, name text, run_id text, published text, file text, spec_sha text,
    record_sha text, state text, outcome text, reason text, metric text, effect float8, low float8,
    high float8, pairs int, host text, fingerprint jsonb, device text, submitted text,
    decided text, at timestamptz, age bigint)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query select * from (
    select r.*, row_number() over (partition by question order by at desc, run_id) as age
    from (
      select encode(e.question_sha, 'hex') as question, e.name, e.run_id,
        coalesce(o.body ->> 'name', e.name) as published, s.file,
        encode(e.spec_sha, 'hex') as spec_sha,
        coalesce(o.body ->> 'record_sha', s.record_sha) as record_sha, j.state::text as state,
        v.outcome, v.reason, v.metric, v.effect::float8 as effect,
        coalesce(v.shown_interval ->> 0, v.shown_interval ->> 'low')::float8 as low,
        coalesce(v.shown_interval ->> 1, v.shown_interval ->> 'high')::float8 as high,
        v.n_pairs::int as pairs, coalesce(h.name, p.name) as host, a.fingerprint,
        (select max(x.value #>> '{engine_flags,device}')
          from jsonb_each(e.spec -> 'arms') x) as device,
        to_char(e.submitted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as submitted,
        to_char(v.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as decided,
        coalesce(v.at, e.submitted_at) as at
      from steady.experiment e join steady.job j using (exp_id)
        left join steady.verdict v using (job_id)
        left join steady.host h on h.host_id = j.host_id
        left join steady.host p on p.host_id = j.pin_host
        left join steady.evidence o on o.job_id = j.job_id and o.kind = 'origin'
        left join steady.shipped s on s.run_id = e.run_id
        left join lateral (select fingerprint from steady.attempt t
          where t.job_id = j.job_id and t.fingerprint is not null
          order by t.epoch desc limit 1) a on true
      where e.question_sha = any (array(select decode(q, 'hex') from unnest(p_questions) q))
      union all
      select encode(s.question_sha, 'hex'), null, s.run_id, s.name, s.file,
        encode(s.spec_sha, 'hex'), s.record_sha, s.state, nullif(s.outcome, ''),
        nullif(s.reason, ''), s.metric, s.effect, s.low, s.high, s.pairs, s.host, s.fingerprint,
        s.device, s.submitted, nullif(s.decided, ''),
        coalesce(nullif(s.decided, ''), s.submitted)::timestamptz
      from steady.shipped s
      where s.question_sha = any (array(select decode(q, 'hex') from unnest(p_questions) q))
        and not exists (select from steady.experiment e where e.run_id = s.run_id)) r) newest
  where age <= p_most order by question, at, run_id;
end $$;

-- The samples of a job's sealed pairs.
create function samples_of(p_job bigint) returns table (gate smallint, kind pair_kind, pair_no int,
    try smallint, arm text, metric text, vals float8[])
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query select s.gate, s.kind, s.pair_no, s.try, s.arm, s.metric, s.vals
  from steady.sample s join steady.pair p using (job_id, gate, kind, pair_no, try)
  where s.job_id = p_job and s.epoch = p.epoch and p.done_at is not null;
end $$;

-- The searches for a commit that an experiment's page asked for, the newest first.
create function bisections_of(p_name text) returns table (bisection_id bigint, experiment text,
    good text, bad text, asked_by text, at text, commands bool, state text, host text, outcome text,
    note text, culprit text, ended_at text)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query select b.bisection_id, e.name, b.good, b.bad, b.asked_by,
    to_char(b.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), b.commands, b.state, h.name,
    b.outcome, b.note, b.culprit, to_char(b.ended_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
  from steady.bisection b join steady.experiment e using (exp_id)
    left join steady.host h using (host_id)
  where e.name = p_name order by b.bisection_id desc limit 50;
end $$;

grant execute on function runs_of, samples_of, bisections_of
  to steady_worker, steady_web, steady_submitter;

reset role;
