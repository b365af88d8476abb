-- A host's noise depends on the GPU that runs, so A/A values are kept by its model too: of the same
-- host the CPU's pairs spread by more, and two models of GPU differ.
set local role steady_owner;
set local search_path = steady, pg_temp;

-- The model of the GPU that an arm of this job ran on; empty: none did.
create function gpu_of(p_job bigint) returns text
  language sql stable set search_path = steady, pg_temp as $$
  select case when d.device is null then '' else coalesce(
    (select t.fingerprint ->> ('gpu' || coalesce(nullif(split_part(d.device, ':', 2), ''), '0') || '_name')
     from attempt t where t.job_id = p_job and t.fingerprint is not null
     order by t.epoch desc limit 1), 'unknown') end
  from job j join experiment e using (exp_id), lateral (
    select max(x.value #>> '{engine_flags,device}')
      filter (where x.value #>> '{engine_flags,device}' like 'cuda%') as device
    from jsonb_each(e.spec -> 'arms') x) d
  where j.job_id = p_job
$$;

alter table aa_value add column gpu text not null default '';
update aa_value a set gpu = g.gpu
from (select job_id, gpu_of(job_id) as gpu from aa_value group by job_id) g
where g.job_id = a.job_id and g.gpu <> '';

-- Archives do not hold it: it follows from the experiment and its attempts, which come before.
create function note_gpu() returns trigger
  language plpgsql set search_path = steady, pg_temp as $$
begin
  new.gpu := coalesce(gpu_of(new.job_id), '');
  return new;
end $$;
create trigger aa_value_gpu before insert on aa_value for each row execute function note_gpu();

revoke execute on function gpu_of, note_gpu from public;

reset role;
