-- A waiting job may come earlier or later than it was submitted to.
set local role steady_owner;
set local search_path = steady, pg_temp;

create function set_priority(p_job bigint, p_priority int) returns int
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  v_job job;
begin
  select * into v_job from job where job_id = p_job for update;
  if not found or v_job.state <> 'queued' then
    raise exception 'job % is %: only a waiting job comes earlier or later', p_job,
      coalesce(v_job.state::text, 'unknown') using errcode = 'ST005';
  end if;
  update job set priority = p_priority where job_id = p_job;
  perform pg_notify('steady_jobs', '');
  return p_priority;
end $$;

reset role;
