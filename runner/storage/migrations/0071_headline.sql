-- What lists show, kept beside the documents: a list of fifty verdicts must not unpack fifty analyses
-- with all their pair values. Computed by the database, so it cannot differ from the document.
set local role steady_owner;
set local search_path = steady, pg_temp;

alter table verdict
  add column sentence text generated always as (analysis ->> 'sentence') stored,
  add column metric text generated always as (analysis ->> 'metric') stored,
  add column prediction text generated always as (analysis ->> 'prediction') stored,
  add column effect text generated always as (analysis ->> 'effect') stored,
  add column shown_interval jsonb generated always as (analysis -> 'interval') stored,
  add column n_pairs text generated always as (analysis ->> 'pairs') stored;
alter table experiment
  add column owner text generated always as (spec ->> 'owner') stored,
  add column claim text generated always as (spec #>> '{hypothesis,claim}') stored,
  add column model text generated always as (spec #>> '{subject,model}') stored,
  add column pairs_max text generated always as (spec #>> '{schedule,pairs,max}') stored;
create index experiment_of_owner on experiment (owner, exp_id);
drop index experiment_by_owner;

reset role;
