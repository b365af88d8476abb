-- The page shows who submitted, cancelled, requeued or moved an experiment: the token's name, or the
-- person at the command line. The log itself stays closed to it.
set local role steady_owner;
set local search_path = steady, pg_temp;

create function who_did(p_subject text)
    returns table (at timestamptz, actor text, what text, detail text)
  language sql stable security definer set search_path = steady, pg_temp as $$
  select a.at, a.actor, a.what, a.detail from audit_log a
  where a.subject = p_subject and a.what in ('submitted', 'cancelled', 'requeued', 'priority',
    'unpinned') order by a.audit_id limit 100
$$;
revoke execute on function who_did from public;
grant execute on function who_did to steady_web;

reset role;
