-- Copies the ten runs with the most samples until there are a million: psql -v ON_ERROR_STOP=1. Copies have names,
-- submission times and so run ids of their own; all else is equal, verdicts too.
set search_path = steady, pg_temp;
create temp table chosen as select job_id, exp_id, count(*) as samples from sample join job using (job_id)
  group by 1, 2 order by count(*) desc, 1 limit 10;
do $$
declare
  step int := (select greatest(max(exp_id), max(j.job_id)) from experiment full join job j using (exp_id));
  copies int := ceil((1000000.0 - (select count(*) from sample)) / (select sum(samples) from chosen));
  one record;
begin
  for one in
    select t, string_agg(quote_ident(attname), ', ') as names,
      string_agg(case attname
        when 'exp_id' then format('exp_id + k * %s', step)
        when 'job_id' then format('job_id + k * %s', step)
        when 'entry_id' then format('entry_id + k * (select max(entry_id) from journal)')
        when 'name' then 'name || ''-copy'' || k'
        when 'submitted_at' then 'submitted_at + k * interval ''1 microsecond'''
        else quote_ident(attname) end, ', ') as copied
    from unnest(array['experiment', 'job', 'attempt', 'pair', 'sample', 'evidence', 'aa_value', 'verdict', 'journal'])
        with ordinality as list (t, place),
      pg_attribute a where a.attrelid = t::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    group by t, place order by place
  loop
    execute format('insert into %1$I (%2$s) overriding system value select %3$s from %1$I, generate_series(1, %4$s) k
      where %5$s in (select %5$s from chosen)', one.t, one.names, one.copied, copies,
      case one.t when 'experiment' then 'exp_id' else 'job_id' end);
  end loop;
end $$;
analyze;
select count(*) || ' samples of ' || count(distinct job_id) || ' runs' from sample;
