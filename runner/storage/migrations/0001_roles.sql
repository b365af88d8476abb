-- Three roles with no login of their own: a connection enters one by its start-up options
-- (runner/storage/connection). Workers and the page get functions and views, never table writes,
-- so that a stale or faulty program cannot go round the fence.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['steady_owner', 'steady_worker', 'steady_web'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin', role_name);
      exception
        when duplicate_object or unique_violation then null;  -- another database's migration
        when insufficient_privilege then
          raise exception 'role % is missing and % may not create roles; run as an administrator: create role % nologin; grant % to %',
            role_name, current_user, role_name, role_name, current_user;
      end;
    end if;
  end loop;
  if not pg_has_role(current_user, 'steady_owner', 'member') then
    grant steady_owner, steady_worker, steady_web to current_user;
  end if;
end $$;

alter schema steady owner to steady_owner;
grant usage on schema steady to steady_worker, steady_web;
alter table steady.migration owner to steady_owner;
grant select on steady.migration to steady_worker, steady_web;
