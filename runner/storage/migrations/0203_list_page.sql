-- A page of the list of experiments in one statement whose plans are kept: to plan it took as long as
-- to run it, and where the newest rows held too few with a word, it was asked and planned twice.
set local role steady_owner;
set local search_path = steady, pg_temp;

-- An experiment as the page lists it.
create view page_row with (security_invoker = true) as
select e.exp_id, e.name, e.owner, e.claim, e.model, j.state, v.outcome, v.reason, v.sentence,
  v.metric, coalesce(h.name, p.name) as host, v.prediction, v.effect, v.shown_interval, v.n_pairs,
  e.pairs_max, to_char(e.submitted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as submitted,
  to_char(v.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as decided, j.note,
  (select body from steady.journal b where b.job_id = j.job_id and b.kind = 'path') as path,
  e.words, e.kind, v.at, j.exp_id as job_exp_id
from steady.experiment e join steady.job j on j.exp_id = e.exp_id
  left join steady.verdict v using (job_id) left join steady.host h on h.host_id = j.host_id
  left join steady.host p on p.host_id = j.pin_host;

-- The newest p_most experiments before p_before among the newest forty pages, where a page is nearly
-- always found, and with words among all that are older, too. Filters that are absent are empty.
create function list_page(p_outcome text, p_state text, p_owner text, p_metric text, p_host text,
    p_words text, p_before bigint, p_most int, p_suite bool)
  returns table (exp_id bigint, name text, owner text, claim text, model text, state job_state,
    outcome text, reason text, sentence text, metric text, host text, prediction text,
    effect text, shown_interval jsonb, n_pairs text, pairs_max text, submitted text,
    decided text, note text, path text)
  language plpgsql stable set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  asked tsquery := p_words;
  oldest bigint;  -- of the newest forty pages
  found bigint;
begin
  select min(w.exp_id) into oldest from (select e.exp_id from steady.experiment e
    where e.exp_id < p_before order by e.exp_id desc limit 40 * p_most) w;
  return query select l.exp_id, l.name, l.owner, l.claim, l.model, l.state, l.outcome, l.reason,
      l.sentence, l.metric, l.host, l.prediction, l.effect, l.shown_interval, l.n_pairs,
      l.pairs_max, l.submitted, l.decided, l.note, l.path
    from steady.page_row l
    where l.exp_id < p_before and l.exp_id >= oldest
      and (p_outcome = '' or l.outcome = p_outcome) and (p_state = '' or l.state::text = p_state)
      and (p_owner = '' or l.owner = p_owner) and (p_metric = '' or l.metric = p_metric)
      and (p_host = '' or l.host = p_host) and (p_words = '' or l.words @@ asked)
      and (p_suite or l.kind = 'question')
    order by l.exp_id desc limit p_most;
  get diagnostics found = row_count;
  if found >= p_most or p_words = '' then return; end if;
  return query select l.exp_id, l.name, l.owner, l.claim, l.model, l.state, l.outcome, l.reason,
      l.sentence, l.metric, l.host, l.prediction, l.effect, l.shown_interval, l.n_pairs,
      l.pairs_max, l.submitted, l.decided, l.note, l.path
    from (select e.exp_id
      from (select i.exp_id, i.owner, i.kind from steady.experiment i
        where i.words @@ asked and i.exp_id < oldest offset 0) e
      where (p_owner = '' or e.owner = p_owner) and (p_suite or e.kind = 'question')
        and (p_outcome || p_state || p_metric || p_host = '' or exists (
          select from steady.page_row o where o.exp_id = e.exp_id
            and (p_outcome = '' or o.outcome = p_outcome)
            and (p_state = '' or o.state::text = p_state)
            and (p_metric = '' or o.metric = p_metric) and (p_host = '' or o.host = p_host)))
      order by e.exp_id desc limit p_most - found) w
    cross join lateral (select * from steady.page_row i where i.exp_id = w.exp_id offset 0) l
    order by l.exp_id desc;
end $$;
grant select on page_row to steady_web;
revoke execute on function list_page from public;
grant execute on function list_page to steady_web;

reset role;
