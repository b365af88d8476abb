-- One search for the command line and the page. An experiment's words are those of its file, its
-- name, its verdict and the machines that ran it; a name such as q4_0_experts is a word as a whole
-- and in its parts. Entries that this project ships are found too, imported or not.
set local role steady_owner;
set local search_path = steady, pg_temp;

create function words_of(p_text text) returns tsvector
  language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_to_tsvector(array_agg(w)), ''::tsvector) from (
    select w from regexp_split_to_table(lower(p_text), '[^a-z0-9_]+') w
    union select w from regexp_split_to_table(lower(p_text), '[^a-z0-9]+') w) x
  where length(w) between 1 and 200
$$;

-- As the run stored it, or of the machines that measured before runs stored it: the same table as in
-- runner/record/cpu_class.cpp.
create function cpu_class(p_print jsonb) returns text
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select coalesce(p_print ->> 'cpu_class', case p_print ->> 'cpu_flags_sha256'
    when '34a7831d9e3d2791' then 'intel-amx'
    when 'bb6fa18d4aa2c5be' then 'intel-avx512_vnni'
    when 'a3b2e5a99de0ca63' then 'amd-avx2'
    when 'ebf54ef511e85980' then 'amd-26-avx512_vnni' end)
$$;

-- What an experiment is found by beside its own file.
create function words_of_run(p_exp bigint) returns text
  language sql stable set search_path = steady, pg_temp as $$
  select concat_ws(' ', v.outcome, v.reason, (select string_agg(concat_ws(' ', h.name,
      a.fingerprint ->> 'cpu_model', cpu_class(a.fingerprint)), ' ')
    from attempt a join host h using (host_id) where a.job_id = j.job_id))
  from job j left join verdict v using (job_id) where j.exp_id = p_exp
$$;

alter table experiment drop column words;
alter table experiment add column words tsvector not null default '';
update experiment e set words = words_of(concat_ws(' ', name, spec_text, words_of_run(exp_id)));
create index experiment_words on experiment using gin (words);

create function experiment_words() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  new.words := words_of(concat_ws(' ', new.name, new.spec_text));
  return new;
end $$;
create trigger experiment_words before insert on experiment
  for each row execute function experiment_words();

create function run_words() returns trigger
  language plpgsql security definer set search_path = steady, pg_temp as $$
begin
  update experiment e set words = words_of(concat_ws(' ', name, spec_text, words_of_run(e.exp_id)))
  from job j where j.exp_id = e.exp_id
    and j.job_id = case tg_op when 'DELETE' then old.job_id else new.job_id end;
  return null;
end $$;
create trigger verdict_words after insert or update or delete on verdict
  for each row execute function run_words();
create trigger attempt_words after insert or update of fingerprint on attempt
  for each row when (new.fingerprint is not null) execute function run_words();

-- The records that lie in the checkout, so that a fresh database knows what was tried.
create table shipped (
  name text primary key,
  file text not null,                            -- below the project's root
  file_sha bytea not null check (octet_length(file_sha) = 32),
  claim text not null, model text not null, metric text not null,
  outcome text not null, reason text not null,
  effect float8, low float8, high float8,
  pairs int not null,
  host text not null,
  decided text not null,                         -- ISO 8601, UTC
  words tsvector not null);
create index shipped_words on shipped using gin (words);
grant select on shipped to steady_web, steady_worker, steady_submitter;

revoke execute on function cpu_class, words_of, words_of_run, experiment_words, run_words from public;
analyze experiment;

reset role;
