-- A run has an identity of its own. The hash of a file says what is asked; two runs of one file, on
-- two machines or twice on one, are two rows of `experiment`, each with its own job and samples.
-- Names stay as they are. A run that comes from another database keeps its name when that is free
-- here, and gets `<name>-r<8 hex of its run id>` otherwise; evidence `origin` holds the name that
-- its record and entry carry.
set local role steady_owner;
set local search_path = steady, pg_temp;

-- Of facts that are fixed when a run is submitted and that every record has always held, so that
-- records from before this file have the same id everywhere.
create function run_id_of(p_sha bytea, p_rerun int, p_seed numeric, p_submitted timestamptz)
  returns text language sql stable set search_path = pg_catalog, pg_temp as $$
  select left(encode(sha256(convert_to(concat_ws(' ', encode(p_sha, 'hex'), p_rerun, p_seed,
    to_char(p_submitted at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US')), 'utf8')), 'hex'), 16)
$$;

alter table experiment add column run_id text;
update experiment set run_id = run_id_of(spec_sha, rerun_no, seed, submitted_at);
alter table experiment alter column run_id set not null;
create unique index experiment_by_run on experiment (run_id);
create function experiment_run() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  new.run_id := run_id_of(new.spec_sha, new.rerun_no, new.seed, new.submitted_at);
  return new;
end $$;
create trigger experiment_run before insert on experiment
  for each row execute function experiment_run();

-- Two machines each have a first run of a file.
alter table experiment drop constraint experiment_spec_sha_rerun_no_key;
create index experiment_by_file on experiment (spec_sha, rerun_no);

-- Which of a file's runs answers for it when it is submitted again: the one that waits or runs, else
-- the newest that was asked of this database. A run of another database answers only for itself.
create function run_of_file(p_sha bytea)
  returns table (o_name text, o_job bigint, o_state job_state, o_question bytea)
  language sql stable set search_path = steady, pg_temp as $$
  select e.name, j.job_id, j.state, e.question_sha from experiment e join job j using (exp_id)
  where e.spec_sha = p_sha and (j.state in ('queued', 'running') or not exists (
    select from evidence o where o.job_id = j.job_id and o.kind = 'origin'))
  order by j.state in ('queued', 'running') desc, e.exp_id desc limit 1
$$;

-- p_fresh: a further run, unless one that asks the same waits or runs: a repeated call queues once.
create or replace function submit(p_spec_id text, p_sha bytea, p_question bytea, p_spec text,
    p_seed numeric, p_fresh bool, p_priority int, p_tags text[], p_gates int[], p_kinds text[],
    p_numbers int[], p_coins text[])
  returns table (o_name text, o_job bigint, o_created bool, o_state job_state)
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_known record;
  v_rerun int;
  v_exp bigint;
  v_job bigint;
  v_name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('steady.submit' || encode(p_sha, 'hex'), 0));
  select * into v_known from run_of_file(p_sha) k;
  if found and (not p_fresh
      or v_known.o_state in ('queued', 'running') and v_known.o_question = p_question) then
    return query select v_known.o_name, v_known.o_job, false, v_known.o_state;
    return;
  end if;
  select coalesce(max(rerun_no) + 1, 0) into v_rerun from experiment where spec_sha = p_sha;
  v_name := p_spec_id || '-' || left(encode(p_sha, 'hex'), 8)
    || case when v_rerun > 0 then '-' || (v_rerun + 1) else '' end;
  insert into experiment (name, spec_id, spec_sha, rerun_no, question_sha, parent, spec, spec_text, seed)
  values (v_name, p_spec_id, p_sha, v_rerun, p_question,
    (select max(exp_id) from experiment where spec_id = p_spec_id and spec_sha <> p_sha),
    p_spec::jsonb, p_spec, p_seed)
  on conflict (name) do nothing
  returning exp_id into v_exp;
  if v_exp is null then
    raise exception 'the name % is taken by another spec', v_name using errcode = 'ST005';
  end if;
  insert into job (exp_id, priority, need_tags) values (v_exp, p_priority, p_tags)
  returning job_id into v_job;
  insert into pair (job_id, gate, kind, pair_no, try, coins)
  select v_job, g, k::pair_kind, n, 0, c::varbit
  from unnest(p_gates, p_kinds, p_numbers, p_coins) as planned(g, k, n, c);
  perform pg_notify('steady_jobs', '');
  return query select v_name, v_job, true, 'queued'::job_state;
end $$;

-- An entry lies under the name that its record carries.
create or replace function set_journal_path(p_job bigint, p_path text) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_name text;
begin
  select coalesce((select o.body ->> 'name' from evidence o where o.job_id = p_job
      and o.kind = 'origin'), e.name) into v_name
  from experiment e join job j using (exp_id) where j.job_id = p_job;
  if p_path !~ '^journal/[0-9]{4}-[0-9]{2}-[0-9]{2}-[A-Za-z0-9._-]+\.md$' or p_path ~ '\.\.'
    or substr(p_path, 20) <> v_name || '.md' then
    raise exception 'journal path "%" is not journal/YYYY-MM-DD-%.md', left(p_path, 200), v_name
      using errcode = 'ST005';
  end if;
  insert into journal (job_id, kind, body) values (p_job, 'path', p_path)
  on conflict (job_id, kind) do update set body = excluded.body;
end $$;

-- The records that lie in the checkout are runs too. They are read again.
delete from shipped;
alter table shipped
  drop constraint shipped_pkey,
  add column run_id text primary key,
  add column question_sha bytea not null check (octet_length(question_sha) = 32),
  add column spec_sha bytea not null check (octet_length(spec_sha) = 32),
  add column record_sha text not null,
  add column state text not null,
  add column submitted text not null,
  add column device text not null,               -- the GPU that an arm names, or empty
  add column fingerprint jsonb;                  -- of its last attempt
create index shipped_by_question on shipped (question_sha);

revoke execute on function run_id_of, experiment_run, run_of_file from public;

reset role;
