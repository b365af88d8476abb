-- The runs of a question, each of whose rows is looked up by its key. Joined freely, PostgreSQL took
-- more rows for likely than there are and read all jobs for each question. `offset 0` keeps a lookup
-- what it is.
set local role steady_owner;
set local search_path = steady, pg_temp;

create or replace function runs_of(p_questions text[], p_most int) returns table (
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
      from steady.experiment e
        cross join lateral (select job_id, state, host_id, pin_host from steady.job i
          where i.exp_id = e.exp_id offset 0) j
        left join lateral (select outcome, reason, metric, effect, shown_interval, n_pairs, at
          from steady.verdict i where i.job_id = j.job_id offset 0) v on true
        left join steady.host h on h.host_id = j.host_id
        left join steady.host p on p.host_id = j.pin_host
        left join lateral (select body from steady.evidence i
          where i.job_id = j.job_id and i.kind = 'origin' offset 0) o on true
        left join lateral (select file, record_sha from steady.shipped i
          where i.run_id = e.run_id offset 0) s on true
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

reset role;
