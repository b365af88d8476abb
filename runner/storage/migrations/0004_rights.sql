-- Who may call what. Functions are open to everybody by default in PostgreSQL, so that is taken
-- away first.
set local role steady_owner;
set local search_path = steady, pg_temp;

revoke execute on all functions in schema steady from public;
alter default privileges for role steady_owner in schema steady revoke execute on functions from public;
grant execute on function is_measurement(float8[]) to steady_worker, steady_web;

grant execute on function hold, register_host, submit, claim, renew, put_fingerprint, put_samples,
  seal_pair, put_evidence, put_aa, finish, stop, rescue, reclaim, cancel, requeue, set_journal_path
  to steady_worker;
grant execute on function submit, cancel, requeue, rescue, token_scopes to steady_web;

-- Both read the record; nobody but the owner reads tokens.
grant select on host, experiment, job, attempt, pair, sample, evidence, aa_value, verdict, journal,
  official_sample, official_value, experiment_row to steady_worker, steady_web;

reset role;
