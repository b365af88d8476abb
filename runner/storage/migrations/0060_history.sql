-- A host's noise depends on the model that runs, so A/A values are kept by model too.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table aa_value add column model text not null default '';
update aa_value a set model = coalesce(e.spec #>> '{subject,model}', '')
from job j join experiment e using (exp_id) where j.job_id = a.job_id;

drop function put_aa(bigint, uuid, bigint, int, text, text, int[], float8[]);
create function put_aa(p_job bigint, p_worker uuid, p_epoch bigint, p_gate int, p_metric text,
    p_mode text, p_model text, p_numbers int[], p_d float8[]) returns void
  language plpgsql security definer set search_path = steady, pg_temp as $$
declare
  held job := hold(p_job, p_worker, p_epoch);
begin
  insert into aa_value (job_id, gate, metric, pair_no, host_id, mode, model, d)
  select p_job, p_gate, p_metric, n, held.host_id, p_mode, p_model, v
  from unnest(p_numbers, p_d) as given(n, v)
  on conflict do nothing;
end $$;
grant execute on function put_aa to steady_worker;

reset role;
