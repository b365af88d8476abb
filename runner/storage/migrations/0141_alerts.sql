-- Alerts: what people should hear of once. A change of level is one alert per range of commits, over
-- all benchmarks and hosts that show it; a verdict and a failed job are one each. Deliveries are
-- kept apart, so that each channel is tried until it has the alert.
set local role steady_owner;
set local search_path = steady, pg_temp;

create table alert (
  alert_id bigint generated always as identity primary key,
  kind text not null check (kind in ('change', 'verdict', 'failure')),
  subject text not null,                         -- change: repository:branch; else the experiment
  slower bool not null default false,            -- of a change
  after_position int not null default 0,         -- of a change: the culprit lies behind this commit …
  position int not null default 0,               -- … and not behind this one
  before_sha text not null default '', commit_sha text not null default '',
  at timestamptz not null default clock_timestamp(),
  state text not null default 'new' check (state in ('new', 'acknowledged', 'fixed', 'wrong')),
  owner text not null default '' check (length(owner) <= 64),
  note text not null default '' check (length(note) <= 2000),
  triaged_at timestamptz, triaged_by text not null default '');
create unique index alert_once on alert (kind, subject) where kind <> 'change';
create index alert_by_range on alert (subject, position) where kind = 'change';

create table alert_change (
  change_id bigint primary key references series_change,
  alert_id bigint not null references alert);
create index alert_change_of on alert_change (alert_id);

create table alert_delivery (
  alert_id bigint not null references alert,
  channel text not null,                         -- webhook, mail
  attempts int not null default 0,
  next_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz,
  error text not null default '',
  primary key (alert_id, channel));

-- The page's write: the alert, and with it the changes that it groups. Empty: no such alert.
create function triage_alert(p_alert bigint, p_state text, p_owner text, p_note text, p_by text)
    returns text
  language sql security definer set search_path = steady, pg_temp as $$
  update series_change set state = p_state, owner = p_owner, note = p_note,
    triaged_at = clock_timestamp()
  where change_id in (select change_id from alert_change where alert_id = p_alert);
  update alert set state = p_state, owner = p_owner, note = p_note, triaged_by = p_by,
    triaged_at = clock_timestamp()
  where alert_id = p_alert returning state
$$;
revoke execute on function triage_alert from public;
grant execute on function triage_alert to steady_web;
grant select on alert, alert_change, alert_delivery to steady_web;

reset role;
