-- The page's lists of series with hundreds of benchmarks and a thousand commits each: how many points
-- a series has is kept with it, and a commit is found in all series at once.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table series
  add column n_points int not null default 0,          -- measured ones
  add column n_failed int not null default 0;
update series s set
  n_points = (select count(*) from series_point p where p.series_id = s.series_id and p.failed = ''),
  n_failed = (select count(*) from series_point p where p.series_id = s.series_id and p.failed <> '');

create function count_points() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  update series s set n_points = n_points + c.good, n_failed = n_failed + c.bad
  from (select series_id, count(*) filter (where failed = '') as good,
      count(*) filter (where failed <> '') as bad from fresh group by series_id) c
  where s.series_id = c.series_id;
  return null;
end $$;
revoke execute on function count_points from public;
create trigger series_point_counted after insert on series_point
  referencing new table as fresh for each statement execute function count_points();

create index series_point_by_commit on series_point (commit_sha collate "C", series_id, point_id);

reset role;
