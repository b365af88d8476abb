-- Two machines may publish their runs of one question under one name, on one day. The entry of the
-- later run carries the beginning of its run's id.
set local role steady_owner;
set local search_path = steady, pg_temp;

create or replace function set_journal_path(p_job bigint, p_path text) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_name text;
  v_run text;
begin
  select coalesce((select o.body ->> 'name' from evidence o where o.job_id = p_job
      and o.kind = 'origin'), e.name), left(e.run_id, 8) into v_name, v_run
  from experiment e join job j using (exp_id) where j.job_id = p_job;
  if p_path !~ '^journal/[0-9]{4}-[0-9]{2}-[0-9]{2}-[A-Za-z0-9._-]+\.md$' or p_path ~ '\.\.'
    or substr(p_path, 20) not in (v_name || '.md', v_name || '-r' || v_run || '.md') then
    raise exception 'journal path "%" is not journal/YYYY-MM-DD-%.md', left(p_path, 200), v_name
      using errcode = 'ST005';
  end if;
  insert into journal (job_id, kind, body) values (p_job, 'path', p_path)
  on conflict (job_id, kind) do update set body = excluded.body;
end $$;

reset role;
