-- A token of the page with the scope submit may queue a failed or cancelled job again, move a waiting
-- one, and ask a question again; all three stand in the audit log under the token's name.
set local role steady_owner;
set local search_path = steady, pg_temp;

grant execute on function requeue, set_priority to steady_web;

reset role;
