-- What a role could still do by calling its functions directly. A worker stored evidence of any kind,
-- so it could claim that retention had removed the samples of a verdict that it had made up, and
-- nobody would compute it again. A submitter gave an experiment any name, and workers make files of
-- that name.
set local role steady_owner;
set local search_path = steady, pg_temp;

-- What is measured beside the pairs, and no more: 'retention', 'origin' and 'refuted verdict' are the
-- owner's words.
create or replace function put_evidence(p_job bigint, p_worker uuid, p_epoch bigint, p_kind text,
    p_body jsonb) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  perform hold(p_job, p_worker, p_epoch);
  if p_kind not in ('prior', 'applied', 'correctness', 'correctness_failure', 'profile', 'progress',
      'sweep') then
    raise exception 'a worker stores no evidence of kind "%"', left(p_kind, 64)
      using errcode = 'ST005';
  end if;
  insert into evidence (job_id, kind, epoch, body) values (p_job, p_kind, p_epoch, p_body)
  on conflict (job_id, kind, epoch) do update set body = excluded.body;
end $$;

-- Names become files: spools, entries, exports. What is stored already is left alone.
alter table experiment add constraint experiment_names_are_plain check (
  spec_id ~ '^[a-z0-9][a-z0-9-]{2,63}$' and name ~ '^[a-z0-9][a-z0-9-]{2,127}$') not valid;

reset role;
