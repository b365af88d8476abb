-- Searches for a commit that the page asked for. A worker takes one, runs what `steady bisect` runs
-- as jobs of the queue, and stores what it found.
set local role steady_owner;
set local search_path = steady, pg_temp;

create table bisection (
  bisection_id bigint generated always as identity primary key,
  exp_id bigint not null references experiment,  -- whose question is asked
  good text not null check (length(good) between 1 and 100),
  bad text not null check (length(bad) between 1 and 100),
  commands bool not null default false,          -- for workers that take any command
  asked_by text not null,
  at timestamptz not null default clock_timestamp(),
  state text not null default 'queued'
    check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  host_id bigint references host,                -- who took it, and goes on with it
  outcome text not null default '',              -- of a finished search
  note text not null default '',                 -- its sentence, or why it failed
  culprit text not null default '',
  body text not null default '',                 -- what `steady bisect --json` prints
  ended_at timestamptz);
create unique index bisection_once on bisection (exp_id, good, bad)
  where state in ('queued', 'running');
create index bisection_of on bisection (exp_id, bisection_id);

-- The open search with the same ends, else a new one; found: the former.
create function ask_bisection(p_exp bigint, p_good text, p_bad text, p_commands bool, p_by text)
    returns table (bisection_id bigint, found bool)
  language plpgsql security definer set search_path = steady, pg_temp as $$
#variable_conflict use_column
begin
  return query insert into bisection (exp_id, good, bad, commands, asked_by)
    values (p_exp, p_good, p_bad, p_commands, p_by) on conflict do nothing
    returning bisection.bisection_id, false;
  if not found then
    return query select b.bisection_id, true from bisection b where b.exp_id = p_exp
      and b.good = p_good and b.bad = p_bad and b.state in ('queued', 'running');
  end if;
  perform pg_notify('steady_jobs', '');
end $$;

-- The oldest open search that this host began, else one whose program it may run.
create function take_bisection(p_host text, p_tags text[])
    returns table (bisection_id bigint)
  language sql security definer set search_path = steady, pg_temp as $$
  update bisection b set state = 'running', host_id = (select host_id from host where name = p_host)
  where b.bisection_id = (
    select o.bisection_id from bisection o join experiment e using (exp_id)
    left join host h on h.host_id = o.host_id
    where o.state in ('queued', 'running') and (h.name is null or h.name = p_host)
      and case when o.commands then 'commands' = any (p_tags)
        else 'program:' || (e.spec #>> '{subject,name}') = any (p_tags) end
    order by o.host_id is null, o.bisection_id limit 1 for update of o skip locked)
  returning b.bisection_id
$$;

create function end_bisection(p_bisection bigint, p_state text, p_outcome text, p_note text,
    p_culprit text, p_body text) returns void
  language sql security definer set search_path = steady, pg_temp as $$
  update bisection set state = p_state, outcome = p_outcome, note = p_note, culprit = p_culprit,
    body = p_body, ended_at = clock_timestamp()
  where bisection_id = p_bisection and state = 'running'
$$;

-- The state afterwards; no row: no such search.
create function cancel_bisection(p_bisection bigint, p_by text) returns table (state text)
  language sql security definer set search_path = steady, pg_temp as $$
  update bisection b set state = 'cancelled', note = 'cancelled by ' || p_by,
    ended_at = clock_timestamp()
  where b.bisection_id = p_bisection and b.state in ('queued', 'running');
  select b.state from bisection b where b.bisection_id = p_bisection
$$;

revoke execute on function ask_bisection, take_bisection, end_bisection, cancel_bisection from public;
grant execute on function ask_bisection, cancel_bisection to steady_web;
grant execute on function take_bisection, end_bisection to steady_worker;
grant select on bisection to steady_submitter, steady_worker, steady_web;

reset role;
