-- The words of an experiment file, kept beside it: a search that walks rows must not cut every file
-- into words again.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table experiment add column words tsvector
  generated always as (to_tsvector('simple', spec_text)) stored;
drop index experiment_words;
create index experiment_words on experiment using gin (words);

reset role;
