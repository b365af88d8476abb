-- Series whose points other programs measured. Nothing ran beside them, so a change of level may be
-- the commit's or the machine's: its class is "unknown", and no alert is made of it.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table series
  add column source text not null default '';        -- program that kept the history; empty: Steady
alter table series_change
  drop constraint series_change_cause_check,
  add constraint series_change_cause_check
    check (cause in ('code', 'method', 'hardware', 'noise', 'unknown'));

reset role;
