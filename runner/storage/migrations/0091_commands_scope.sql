-- A token may give the right to have any command run, confined, by workers that take such jobs.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table token drop constraint token_scopes_check;
alter table token add constraint token_scopes_check
  check (scopes <@ array['read', 'submit', 'cancel', 'commands', 'admin']);

reset role;
