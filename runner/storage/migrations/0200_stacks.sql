-- A worker may store the sampled call stacks of both arms: evidence of kind 'stacks'.
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

reset role;
