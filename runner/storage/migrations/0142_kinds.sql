-- What an experiment is for. The page's lists, the search and the owners' hit rate are about
-- questions of people; the standing suite, self-tests and steps of a bisection are asked by Steady.
set local role steady_owner;
set local search_path = steady, pg_temp;

create function kind_of(p_spec_id text) returns text
  language sql immutable parallel safe as $$
  select case
    when p_spec_id like 'watch-%' then 'suite'
    when p_spec_id ~ '^(a-against-a|(burn|gain)-[0-9]+(-[0-9]+)?|planted-[0-9]+-[0-9]+)$' then 'selftest'
    when p_spec_id ~ '-bisect-[0-9a-f]{8}-' then 'bisect'
    else 'question' end
$$;
alter table experiment add column kind text not null generated always as (kind_of(spec_id)) stored;
create index experiment_selftests on experiment (exp_id) where kind = 'selftest';

reset role;
