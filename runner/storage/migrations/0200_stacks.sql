-- A worker may store the sampled call stacks of both arms: evidence of kind 'stacks'. They are some
-- hundred kilobytes that few readers of a record want, so they are read by themselves.
set local role steady_owner;
set local search_path = steady, pg_temp;

create or replace function put_evidence(p_job bigint, p_worker uuid, p_epoch bigint, p_kind text,
    p_body jsonb) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  perform hold(p_job, p_worker, p_epoch);
  if p_kind not in ('prior', 'applied', 'correctness', 'correctness_failure', 'profile', 'progress',
      'sweep', 'stacks') then
    raise exception 'a worker stores no evidence of kind "%"', left(p_kind, 64)
      using errcode = 'ST005';
  end if;
  insert into evidence (job_id, kind, epoch, body) values (p_job, p_kind, p_epoch, p_body)
  on conflict (job_id, kind, epoch) do update set body = excluded.body;
end $$;

-- A record without the stacks. What was put together as jsonb was only written out as text again: json
-- is text from the start.
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
        and i.kind <> 'stacks'
      order by i.kind, i.epoch desc) o) found
  cross join lateral (  -- an imported experiment brought its list with it
    select coalesce(found.brought::json, (select json_agg(x.name order by x.exp_id)
      from experiment x where x.question_sha = e.question_sha and x.exp_id < e.exp_id), '[]')
      as earlier) known
  where e.name = p_name;
end $$;
grant execute on function read_record to steady_worker, steady_web, steady_submitter;

reset role;
