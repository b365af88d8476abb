-- What keeps the page fast with tens of thousands of experiments: words of the experiment files (the
-- memory of what was tried), owners, machines' latest attempts and the queue's length.
set local role steady_owner;
set local search_path = steady, pg_temp;

create index experiment_words on experiment using gin (to_tsvector('simple', spec_text));
create index experiment_by_owner on experiment ((spec ->> 'owner'), exp_id);
create index attempt_by_host on attempt (host_id, began desc);
create index verdict_by_outcome on verdict (outcome, job_id);
create index evidence_by_kind on evidence (kind, job_id desc);

reset role;
