-- The machines page asks which metrics a host measured lately.
set local role steady_owner;
set local search_path = steady, pg_temp;

create index aa_by_host_time on aa_value (host_id, at desc);

reset role;
