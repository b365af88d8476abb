-- Tracking of any repository: a series knows its repository, branch and pinned reference; a change
-- knows its interval, what a direct A/B of its two sides said, and its class in plain words. The
-- words of triage become those of every alert.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table series
  add column repository text not null default '',    -- empty: Steady itself
  add column branch text not null default '',
  add column reference_sha text not null default '' check (reference_sha ~ '^([0-9a-f]{40})?$'),
  add column unit text not null default 'ns';        -- of the raw values

alter table series_point
  add column method text not null default '';        -- how it was measured: question, compilers

alter table series_change
  add column low float8, add column high float8,     -- 95 %, of the shift, log units
  add column cross_checked bool not null default false,  -- E-Divisive finds it too
  add column confirmation text not null default ''
    check (confirmation in ('', 'confirmed', 'refuted', 'open')),
  add column confirmed_by text not null default '',  -- name of that experiment
  drop constraint series_change_cause_check,
  drop constraint series_change_state_check;
update series_change set cause = case cause when 'reference' then 'method'
  when 'machine' then 'hardware' else cause end;
update series_change set state = case state when 'confirmed' then 'acknowledged'
  when 'ignored' then 'wrong' else state end;
alter table series_change
  add constraint series_change_cause_check check (cause in ('code', 'method', 'hardware', 'noise')),
  add constraint series_change_state_check check (state in ('new', 'acknowledged', 'fixed', 'wrong'));

reset role;
