// The statements of dashboard_queries.cpp, in one place. Parameters only; filters that are absent
// are empty strings, so that no statement is put together at run time.
#pragma once

namespace steady::sql {

#define STEADY_ISO(column) \
    "to_char(" column " at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

#define STEADY_PAGE_ROWS                                                                         \
    "select exp_id, name, owner, claim, model, state, outcome, reason, sentence, metric, host, " \
    "prediction, effect, shown_interval, n_pairs, pairs_max, submitted, decided, note, path "    \
    "from steady.page_row where "

// What list_page() looks for among the newest, of all.
inline constexpr const char* kPageAll = STEADY_PAGE_ROWS
    "($1 = '' or outcome = $1) and ($2 = '' or state::text = $2) and ($3 = '' or owner = $3) "
    "and ($4 = '' or metric = $4) and ($5 = '' or host = $5) and ($8 or kind = 'question') "
    // Said of both tables: the join walks each from there on, not from its newest row.
    "and exp_id < $6 and job_exp_id < $6 order by exp_id desc limit $7";

inline constexpr const char* kPageDecided = STEADY_PAGE_ROWS
    "at is not null and ($1 = '' or words @@ $1::tsquery) and kind = 'question' "
    "order by at desc limit $2";

inline constexpr const char* kPageQueue =
    "select e.name, e.owner, e.claim, j.state, h.name, "
    "j.worker::text, j.note, j.priority, j.crashes, "
    // Those of the deciding gate, as the worker told them; pairs of other gates are in the table too.
    "coalesce((select (body ->> 'pairs')::int from steady.evidence b where b.job_id = j.job_id "
    "and b.kind = 'progress' order by epoch desc limit 1), 0), "
    "e.pairs_max, " STEADY_ISO("j.queued_at") ", "
    "(select " STEADY_ISO("max(a.began)") " from steady.attempt a where a.job_id = j.job_id), "
    STEADY_ISO("j.lease_until") ", j.need_tags, j.cancel_at is not null, "
    "(select body from steady.evidence b where b.job_id = j.job_id and b.kind = 'progress' "
    "order by epoch desc limit 1) "
    "from steady.job j join steady.experiment e using (exp_id) "
    "left join steady.host h on h.host_id = j.host_id where j.state in ('queued', 'running') "
    "order by j.state = 'running' desc, "
    "j.priority + extract(epoch from clock_timestamp() - j.queued_at) / 1800 desc, j.job_id "
    "limit $1";

inline constexpr const char* kPageHosts =
    "select h.host_id, h.name, " STEADY_ISO("h.seen_at") ", "
    "(select e.name from steady.job j join steady.experiment e using (exp_id) "
    "where j.state = 'running' and j.host_id = h.host_id), h.tags, h.draining, "
    "(select a.fingerprint from steady.attempt a where a.host_id = h.host_id "
    "and a.fingerprint is not null order by a.began desc limit 1) "
    "from steady.host h order by h.seen_at desc limit 100";

inline constexpr const char* kPageNoise =
    "select distinct metric, mode, gpu from (select metric, mode, gpu from steady.aa_value "
    "where host_id = $1 order by at desc limit 2000) latest order by metric, mode, gpu";

inline constexpr const char* kPageNoiseValues =
    "select d, " STEADY_ISO("at") " from steady.aa_value where host_id = $1 and metric = $2 "
    "and mode = $3 and gpu = $4 order by at desc limit 100";

inline constexpr const char* kPageProfiles =
    "select e.name, " STEADY_ISO("b.at") ", h.name, e.model, b.body, "
    "(select a.body from steady.evidence a where a.job_id = b.job_id "
    "and a.kind = 'applied' order by a.epoch desc limit 1) "
    "from steady.evidence b join steady.job j using (job_id) join steady.experiment e using (exp_id) "
    "left join steady.host h on h.host_id = j.pin_host "
    "where b.kind = 'profile' order by b.job_id desc limit 40";

inline constexpr const char* kPageAccepted =
    "select e.name, k.key, k.value, e.model from steady.verdict v join steady.job j using (job_id) "
    "join steady.experiment e using (exp_id), "
    "jsonb_each_text(coalesce(e.spec #> '{arms,B,kernels}', '{}')) k "
    "where v.outcome = 'accept' order by v.at desc limit 500";

inline constexpr const char* kPageOwners =
    "select e.owner, count(*), count(*) filter (where v.outcome = 'accept'), "
    "count(*) filter (where v.outcome = 'reject'), "
    "count(*) filter (where v.prediction = 'inside'), "
    "count(*) filter (where v.prediction = 'above'), "
    "count(*) filter (where v.prediction = 'below') "
    "from (select exp_id, owner from steady.experiment where kind = 'question' "
    "order by exp_id desc limit 2000) e "
    "join steady.job j using (exp_id) left join steady.verdict v using (job_id) "
    "group by 1 order by 2 desc limit 200";

inline constexpr const char* kPageDepth = "select count(*) from steady.job where state = 'queued'";

inline constexpr const char* kPageEvents =
    "select j.job_id, j.state, v.outcome, v.reason, "
    "(select body from steady.evidence b where b.job_id = j.job_id and b.kind = 'progress' "
    "order by epoch desc limit 1), "
    "(select count(*) from steady.pair p where p.job_id = j.job_id and p.done_at is not null) "
    "from steady.experiment e join steady.job j using (exp_id) "
    "left join steady.verdict v using (job_id) where e.name = $1";

inline constexpr const char* kPagePairEvents =
    "select gate, pair_no, kind, discarded from steady.pair where job_id = $1 "
    "and done_at is not null order by done_at, gate, kind, pair_no, try offset $2 limit 2000";

// Questions with the words $1, each by its run that has most of them ($2, one by one), the newest
// first; shipped records count where the run is not here.
inline constexpr const char* kSearch =
    "with hit as (select e.run_id, e.exp_id, e.question_sha as question, e.words, "
    "e.submitted_at as at from steady.experiment e where e.words @@ $1::tsquery "
    "and e.kind = 'question' and (not $4 or exists (select from steady.job j "
    "join steady.verdict v using (job_id) where j.exp_id = e.exp_id)) "
    "union all select s.run_id, null, s.question_sha, s.words, nullif(s.decided, '')::timestamptz "
    "from steady.shipped s where s.words @@ $1::tsquery and (not $4 or s.outcome <> '') "
    "and not exists (select from steady.experiment e where e.run_id = s.run_id)), "
    "scored as (select *, (select count(*) from unnest($2::text[]) t "
    "where hit.words @@ ('''' || t || ''':*')::tsquery) as n from hit), "
    "best as (select distinct on (question) * from scored "
    "order by question, n desc, at desc nulls last, run_id) "
    "select coalesce(e.name, s.name) as name, coalesce(e.claim, s.claim) as claim, "
    "coalesce(e.model, s.model) as model, coalesce(v.metric, s.metric) as metric, "
    "coalesce(j.state::text, 'shipped') as state, coalesce(v.outcome, s.outcome) as outcome, "
    "coalesce(v.reason, s.reason) as reason, coalesce(h.name, p.name, s.host) as host, e.owner, "
    "coalesce(v.effect::float8, s.effect) as effect, "
    "coalesce(v.n_pairs::int, s.pairs, 0) as pairs, "
    "coalesce((v.shown_interval ->> 0)::float8, (v.shown_interval ->> 'low')::float8, s.low) "
    "as low, coalesce((v.shown_interval ->> 1)::float8, (v.shown_interval ->> 'high')::float8, "
    "s.high) as high, " STEADY_ISO("e.submitted_at") " as submitted, "
    "coalesce(" STEADY_ISO("v.at") ", s.decided) as decided, j.note, "
    "(select body from steady.journal b where b.job_id = j.job_id and b.kind = 'path') as path, "
    "s.file, encode(best.question, 'hex') as question "
    "from best left join steady.experiment e using (exp_id) "
    "left join steady.job j using (exp_id) left join steady.verdict v using (job_id) "
    "left join steady.host h on h.host_id = j.host_id "
    "left join steady.host p on p.host_id = j.pin_host "
    "left join steady.shipped s on s.run_id = best.run_id and best.exp_id is null "
    "order by best.n desc, best.at desc nulls last, name limit $3";

inline constexpr const char* kSearchKnows =
    "select exists (select from steady.experiment where words @@ $1::tsquery) "
    "or exists (select from steady.shipped where words @@ $1::tsquery)";

inline constexpr const char* kSearchVocabulary =
    "select distinct w from (select words from (select words from steady.experiment "
    "order by exp_id desc limit 500) e union all (select words from steady.shipped limit 1000)) x, "
    "unnest(tsvector_to_array(words)) w where length(w) between 3 and 100";

inline constexpr const char* kShippedKnown =
    "select distinct file, encode(file_sha, 'hex') from steady.shipped";
inline constexpr const char* kShippedForget =
    "delete from steady.shipped where not file = any ($1::text[])";
inline constexpr const char* kShippedLearn =
    "insert into steady.shipped (name, file, file_sha, claim, model, metric, outcome, reason, "
    "effect, low, high, pairs, host, decided, words, run_id, question_sha, spec_sha, record_sha, "
    "state, submitted, device, fingerprint) select distinct on (run_id) name, file, "
    "decode(sha, 'hex'), claim, model, metric, outcome, reason, effect, low, high, pairs, host, "
    "decided, steady.words_of(words), run_id, decode(question_sha, 'hex'), "
    "decode(spec_sha, 'hex'), record_sha, state, " STEADY_ISO("submitted_at") ", device, "
    "fingerprint from jsonb_to_recordset($1::jsonb) as x(name text, file text, "
    "sha text, claim text, model text, metric text, outcome text, reason text, effect float8, "
    "low float8, high float8, pairs int, host text, decided text, words text, spec_sha text, "
    "rerun_no int, seed text, submitted_at timestamptz, question_sha text, record_sha text, "
    "state text, device text, fingerprint jsonb), lateral steady.run_id_of("
    "decode(x.spec_sha, 'hex'), x.rerun_no, x.seed::numeric, x.submitted_at) as run_id "
    "order by run_id, file "
    "on conflict (run_id) do update set name = excluded.name, file = excluded.file, "
    "file_sha = excluded.file_sha, "
    "claim = excluded.claim, model = excluded.model, metric = excluded.metric, "
    "outcome = excluded.outcome, reason = excluded.reason, effect = excluded.effect, "
    "low = excluded.low, high = excluded.high, pairs = excluded.pairs, host = excluded.host, "
    "decided = excluded.decided, words = excluded.words, "
    "question_sha = excluded.question_sha, spec_sha = excluded.spec_sha, "
    "record_sha = excluded.record_sha, state = excluded.state, submitted = excluded.submitted, "
    "device = excluded.device, fingerprint = excluded.fingerprint";

inline constexpr const char* kWithoutVerdictOrEntry =
    "select e.name from steady.experiment e join steady.job j using (exp_id) "
    "where j.state in ('cancelled', 'failed') and not exists (select from steady.journal l "
    "where l.job_id = j.job_id and l.kind in ('path', 'no entry')) order by e.exp_id";

#undef STEADY_ISO

}  // namespace steady::sql
