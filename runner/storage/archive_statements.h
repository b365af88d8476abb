// Statements of archive.cpp. Reading and writing name the same fields in the same order; documents
// and instants travel as text, exactly as PostgreSQL prints them.
#pragma once

namespace steady::sql {

inline constexpr const char* kArchiveHead =
    "select j.job_id, j.state, to_json(h)::text from steady.experiment e "
    "join steady.job j using (exp_id) left join steady.experiment u on u.exp_id = e.parent "
    "left join steady.evidence o on o.job_id = j.job_id and o.kind = 'origin' "
    "left join steady.host p on p.host_id = j.pin_host, lateral (select "
    "coalesce(o.body ->> 'name', e.name) as name, e.spec_id, "
    "encode(e.spec_sha, 'hex') as spec_sha, e.rerun_no, "
    "encode(e.question_sha, 'hex') as question_sha, e.spec_text, e.seed::text as seed, "
    "e.submitted_at, coalesce(o.body ->> 'parent', u.name) as parent, "
    "coalesce(o.body -> 'earlier', (select coalesce(jsonb_agg(x.name order by x.exp_id), '[]') "
    "from steady.experiment x where x.question_sha = e.question_sha and x.exp_id < e.exp_id)) "
    "as earlier, j.state, j.priority, j.need_tags, p.name as host, j.queued_at, j.run_after, "
    "j.crashes, j.max_crashes, j.epoch, j.cancel_at, j.note) h where e.name = $1";

// Each answers with one JSON array of objects for job $1.
inline constexpr const char* kArchiveAttempts =
    "select coalesce(json_agg(r order by epoch), '[]')::text from (select a.epoch, a.worker, "
    "h.name as host, a.fingerprint::text as fingerprint, a.began, a.ended, a.how "
    "from steady.attempt a join steady.host h using (host_id) where a.job_id = $1) r";
inline constexpr const char* kArchivePairs =
    "select coalesce(json_agg(r order by gate, kind, pair_no, try), '[]')::text from (select "
    "p.gate, p.kind, p.pair_no, p.try, p.coins::text as coins, p.epoch, h.name as host, "
    "p.done_at, p.discarded from steady.pair p left join steady.host h using (host_id) "
    "where p.job_id = $1) r";
inline constexpr const char* kArchiveEvidence =
    "select coalesce(json_agg(r order by kind, epoch), '[]')::text from (select kind, epoch, "
    "body::text as body, at from steady.evidence where job_id = $1 and kind <> 'origin') r";
inline constexpr const char* kArchiveNoise =
    "select coalesce(json_agg(r order by gate, metric, pair_no), '[]')::text from (select a.gate, "
    "a.metric, a.pair_no, h.name as host, a.mode, a.model, a.d, a.at from steady.aa_value a "
    "join steady.host h using (host_id) where a.job_id = $1) r";
inline constexpr const char* kArchiveVerdict =
    "select coalesce(json_agg(r), '[]')::text from (select outcome, reason, "
    "analysis::text as analysis, epoch, at from steady.verdict where job_id = $1) r";
inline constexpr const char* kArchiveJournal =
    "select coalesce(json_agg(r order by kind), '[]')::text from (select kind, body "
    "from steady.journal where job_id = $1) r";
inline constexpr const char* kArchiveSamples =
    "select json_build_array(gate, kind, pair_no, try, epoch, arm, metric, vals)::text "
    "from steady.sample where job_id = $1 "
    "order by gate, kind, pair_no, try, epoch, arm, metric";

inline constexpr const char* kImportHosts =
    "insert into steady.host (name, seen_at) select name, coalesce(max(began), "
    "clock_timestamp()) from jsonb_to_recordset($1::jsonb) as x(name text, began timestamptz) "
    "group by name on conflict (name) do nothing";
// The run that a record is of: its id, its name here ('' when it is not here), and a name that is
// free for it: its own, or with its run's id.
inline constexpr const char* kImportRun =
    "select run, coalesce(e.name, ''), x.name || case when exists (select from steady.experiment t "
    "where t.name = x.name) then '-r' || left(run, 8) else '' end from jsonb_to_record($1::jsonb) "
    "as x(name text, spec_sha text, rerun_no int, seed text, submitted_at timestamptz), "
    "lateral steady.run_id_of(decode(x.spec_sha, 'hex'), x.rerun_no, x.seed::numeric, "
    "x.submitted_at) as run left join steady.experiment e on e.run_id = run";
inline constexpr const char* kImportExperiment =
    "insert into steady.experiment (name, spec_id, spec_sha, rerun_no, question_sha, parent, spec, "
    "spec_text, seed, submitted_at) select $2, spec_id, decode(spec_sha, 'hex'), rerun_no, "
    "decode(question_sha, 'hex'), (select exp_id from steady.experiment u where u.name = "
    "x.parent), "
    "spec_text::jsonb, spec_text, seed::numeric, submitted_at from jsonb_to_record($1::jsonb) as "
    "x(name text, spec_id text, spec_sha text, rerun_no int, question_sha text, parent text, "
    "spec_text text, seed text, submitted_at timestamptz) returning exp_id";
inline constexpr const char* kImportJob =
    "insert into steady.job (exp_id, state, priority, need_tags, pin_host, queued_at, run_after, "
    "crashes, max_crashes, epoch, cancel_at, note) select $1, state, priority, need_tags, "
    "(select host_id from steady.host h where h.name = x.host), queued_at, run_after, crashes, "
    "max_crashes, epoch, cancel_at, note from jsonb_to_record($2::jsonb) as x(state "
    "steady.job_state, priority smallint, need_tags text[], host text, queued_at timestamptz, "
    "run_after timestamptz, crashes int, max_crashes int, epoch bigint, cancel_at timestamptz, "
    "note text) returning job_id";
inline constexpr const char* kImportOrigin =
    "insert into steady.evidence (job_id, kind, epoch, body) "
    "values ($1, 'origin', 0, jsonb_build_object('parent', $2::jsonb -> 'parent', "
    "'earlier', $2::jsonb -> 'earlier', 'name', $2::jsonb -> 'name', 'record_sha', $3::text))";
inline constexpr const char* kImportAttempts =
    "insert into steady.attempt (job_id, epoch, worker, host_id, fingerprint, began, ended, how) "
    "select $1, x.epoch, x.worker, h.host_id, x.fingerprint::jsonb, x.began, x.ended, x.how from "
    "jsonb_to_recordset($2::jsonb) as x(epoch bigint, worker uuid, host text, fingerprint text, "
    "began timestamptz, ended timestamptz, how text) left join steady.host h on h.name = x.host";
inline constexpr const char* kImportPairs =
    "insert into steady.pair (job_id, gate, kind, pair_no, try, coins, epoch, host_id, done_at, "
    "discarded) select $1, x.gate, x.kind, x.pair_no, x.try, x.coins::varbit, x.epoch, h.host_id, "
    "x.done_at, x.discarded from jsonb_to_recordset($2::jsonb) as x(gate smallint, "
    "kind steady.pair_kind, pair_no int, try smallint, coins text, epoch bigint, host text, "
    "done_at timestamptz, discarded text) left join steady.host h on h.name = x.host";
inline constexpr const char* kImportEvidence =
    "insert into steady.evidence (job_id, kind, epoch, body, at) select $1, kind, epoch, "
    "body::jsonb, at from jsonb_to_recordset($2::jsonb) as x(kind text, epoch bigint, body text, "
    "at timestamptz)";
inline constexpr const char* kImportNoise =
    "insert into steady.aa_value (job_id, gate, metric, pair_no, host_id, mode, model, d, at) "
    "select $1, x.gate, x.metric, x.pair_no, h.host_id, x.mode, x.model, x.d, x.at from "
    "jsonb_to_recordset($2::jsonb) as x(gate smallint, metric text, pair_no int, host text, "
    "mode text, model text, d float8, at timestamptz) "
    "left join steady.host h on h.name = x.host";
inline constexpr const char* kImportVerdict =
    "insert into steady.verdict (job_id, outcome, reason, analysis, epoch, at) select $1, outcome, "
    "reason, analysis::jsonb, epoch, at from jsonb_to_recordset($2::jsonb) as x(outcome text, "
    "reason text, analysis text, epoch bigint, at timestamptz)";
inline constexpr const char* kImportJournal =
    "insert into steady.journal (job_id, kind, body) select $1, kind, body "
    "from jsonb_to_recordset($2::jsonb) as x(kind text, body text)";
inline constexpr const char* kImportSamples =
    "insert into steady.sample (job_id, gate, kind, pair_no, try, epoch, arm, metric, vals) "
    "select $1, (r ->> 0)::smallint, (r ->> 1)::steady.pair_kind, (r ->> 2)::int, "
    "(r ->> 3)::smallint, (r ->> 4)::bigint, r ->> 5, r ->> 6, "
    "array(select v::float8 from jsonb_array_elements_text(r -> 7) with ordinality as t(v, i) "
    "order by i) from jsonb_array_elements($2::jsonb) as r";

}  // namespace steady::sql
