-- What people write beside a series: a note at a commit, or a mark where they see a change of level.
-- Both carry the name of the token that wrote them; a removed one stays, with who removed it. The
-- triage of a change keeps the name, too.
set local role steady_owner;
set local search_path = steady, pg_temp;

create table series_note (
  note_id bigint generated always as identity primary key,
  series_id bigint not null references series,
  commit_sha text not null check (commit_sha ~ '^[0-9a-f]{40}$'),
  kind text not null check (kind in ('note', 'mark')),
  body text not null check (length(body) between 1 and 2000),
  author text not null check (length(author) between 1 and 200),
  at timestamptz not null default clock_timestamp(),
  removed_at timestamptz, removed_by text not null default '');
create index series_note_of on series_note (series_id, note_id) where removed_at is null;

alter table series_change add column triaged_by text not null default '';

-- No row: no point of this series has that commit.
create function add_series_note(p_series bigint, p_commit text, p_kind text, p_body text, p_by text)
    returns table (note_id bigint)
  language sql security definer set search_path = steady, pg_temp as $$
  insert into series_note (series_id, commit_sha, kind, body, author)
  select p_series, p_commit, p_kind, p_body, p_by
  where exists (select from series_point p where p.series_id = p_series
    and p.commit_sha collate "C" = p_commit)
  returning series_note.note_id
$$;

-- No row: this series has no such note now.
create function remove_series_note(p_series bigint, p_note bigint, p_by text)
    returns table (note_id bigint)
  language sql security definer set search_path = steady, pg_temp as $$
  update series_note n set removed_at = clock_timestamp(), removed_by = p_by
  where n.series_id = p_series and n.note_id = p_note and n.removed_at is null
  returning n.note_id
$$;

create function triage(p_change bigint, p_state text, p_owner text, p_note text, p_by text)
    returns text
  language sql security definer set search_path = steady, pg_temp as $$
  update series_change set state = p_state, owner = p_owner, note = p_note,
    triaged_at = clock_timestamp(), triaged_by = p_by
  where change_id = p_change returning state
$$;

create or replace function triage_alert(p_alert bigint, p_state text, p_owner text, p_note text,
    p_by text) returns text
  language sql security definer set search_path = steady, pg_temp as $$
  update series_change set state = p_state, owner = p_owner, note = p_note,
    triaged_at = clock_timestamp(), triaged_by = p_by
  where change_id in (select change_id from alert_change where alert_id = p_alert);
  update alert set state = p_state, owner = p_owner, note = p_note, triaged_by = p_by,
    triaged_at = clock_timestamp()
  where alert_id = p_alert returning state
$$;

revoke execute on function add_series_note, remove_series_note,
  triage(bigint, text, text, text, text) from public;
grant execute on function add_series_note, remove_series_note to steady_web;
grant execute on function triage(bigint, text, text, text, text) to steady_web;
grant select on series_note to steady_submitter, steady_worker, steady_web;

reset role;
