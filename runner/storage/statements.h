// Every statement of Store in one place. All are sent with parameters; none is put together from
// text that came from outside.
#pragma once

namespace steady::sql {

// --- queue and results: functions of 0003_functions.sql ---
inline constexpr const char* kSubmit =
    "select o_name, o_job, o_created, o_state from steady.submit($1, decode($2, 'hex'), "
    "decode($3, 'hex'), $4, $5::numeric, $6, $7, $8::text[], $9::int[], $10::text[], $11::int[], "
    "$12::text[])";
inline constexpr const char* kRegisterHost = "select steady.register_host($1, $2::text[])";
inline constexpr const char* kClaim =
    "select o_job, o_epoch, o_name from steady.claim($1::uuid, $2, make_interval(secs => $3), $4)";
inline constexpr const char* kRenew =
    "select steady.renew($1, $2::uuid, $3, make_interval(secs => $4))";
inline constexpr const char* kStop = "select steady.stop($1, $2::uuid, $3, $4, $5)";
inline constexpr const char* kRescue = "select steady.rescue()";
inline constexpr const char* kReclaim = "select steady.reclaim($1, $2::uuid, $3::uuid[])";
inline constexpr const char* kCancel =
    "select steady.cancel(job_id) from steady.experiment_row where name = $1";
inline constexpr const char* kRequeue =
    "select steady.requeue(job_id) from steady.experiment_row where name = $1";
inline constexpr const char* kKeepForCaller =
    "update steady.job set run_after = clock_timestamp() + interval '65 minutes' "
    "where job_id = $1 and state = 'queued'";
inline constexpr const char* kKeepNamedForCaller =
    "update steady.job j set run_after = clock_timestamp() + interval '65 minutes' "
    "from steady.experiment e where e.exp_id = j.exp_id and e.name = $1 and j.state = 'queued'";
inline constexpr const char* kSetPriority =
    "select steady.set_priority(job_id, $2) from steady.experiment_row where name = $1";
inline constexpr const char* kUnpin =
    "select steady.unpin(job_id) from steady.experiment_row where name = $1";
inline constexpr const char* kDropSamples =
    "select steady.drop_samples(job_id, $2) from steady.experiment_row where name = $1";
// Ended before $1 days ago, one row per experiment that has samples nobody decides on any more.
inline constexpr const char* kExpendable =
    "with ended as (select e.name, j.job_id, v.job_id is not null as decided, "
    "exists (select from steady.experiment x join steady.job y using (exp_id) "
    "join steady.verdict w on w.job_id = y.job_id "
    "where x.spec_sha = e.spec_sha and x.exp_id > e.exp_id "
    "and y.pin_host is not distinct from j.pin_host) as superseded "
    "from steady.experiment e join steady.job j using (exp_id) "
    "left join steady.verdict v on v.job_id = j.job_id "
    "where j.state in ('done', 'failed', 'cancelled') and greatest(e.submitted_at, "
    "v.at, (select max(coalesce(ended, began)) from steady.attempt a where a.job_id = j.job_id)) "
    "< clock_timestamp() - make_interval(days => $1)) "
    "select ended.name, case when not decided then 'undecided' when superseded then 'superseded' "
    "else 'dead epochs' end as why, count(*), sum(cardinality(s.vals)), "
    "sum(pg_column_size(s.*)) from ended join steady.sample s using (job_id) "
    "left join steady.pair p using (job_id, gate, kind, pair_no, try) "
    "where not decided or superseded or p.epoch is distinct from s.epoch "
    "group by 1, 2 order by 1";
inline constexpr const char* kDrain = "update steady.host set draining = $2 where name = $1";
inline constexpr const char* kPutFingerprint =
    "select steady.put_fingerprint($1, $2::uuid, $3, $4::jsonb)";
inline constexpr const char* kPutSamples =
    "select steady.put_samples($1, $2::uuid, $3, $4, $5, $6, $7, $8::text[], $9::text[], "
    "$10::text[])";
inline constexpr const char* kSealPair =
    "select steady.seal_pair($1, $2::uuid, $3, $4, $5, $6, $7, $8, nullif($9, ''), "
    "nullif($10, ''))";
inline constexpr const char* kPutEvidence =
    "select steady.put_evidence($1, $2::uuid, $3, $4, $5::jsonb)";
inline constexpr const char* kPutAa =
    "select steady.put_aa($1, $2::uuid, $3, $4, $5, $6, $7, $8::int[], $9::float8[])";
inline constexpr const char* kFinish =
    "select steady.finish($1, $2::uuid, $3, $4, $5, $6::jsonb, $7)";
inline constexpr const char* kSetJournalPath =
    "select steady.set_journal_path(job_id, $2) from steady.experiment_row where name = $1";

// --- reading ---
inline constexpr const char* kLast =
    "select name from steady.experiment order by exp_id desc limit 1";
inline constexpr const char* kResolveExact = "select name from steady.experiment where name = $1";
inline constexpr const char* kResolveRun = "select name from steady.experiment where run_id = $1";
inline constexpr const char* kResolveSpec =
    "select name from steady.experiment where spec_id = $1 order by exp_id desc limit 1";
inline constexpr const char* kResolvePrefix =
    "select name from steady.experiment where starts_with(name, $1) order by exp_id desc limit 5";
inline constexpr const char* kResolveNear =
    "select name from steady.experiment where position($1 in name) > 0 order by exp_id desc "
    "limit 5";
// The newest decided run of this file and question on one host. $1 file, $2 question, $3 host.
inline constexpr const char* kDecidedOn =
    "select e.name from steady.experiment e join steady.job j using (exp_id) "
    "join steady.host h on h.host_id = j.pin_host where e.spec_sha = decode($1, 'hex') "
    "and e.question_sha = decode($2, 'hex') and j.state = 'done' and h.name = $3 "
    "order by e.exp_id desc limit 1";
inline constexpr const char* kAttemptsAt =
    "select name from steady.experiment where question_sha = decode($1, 'hex') order by exp_id";
inline constexpr const char* kEvidence =
    "select body from steady.evidence where job_id = $1 and kind = $2 order by epoch desc limit 1";
inline constexpr const char* kListExperiments =
    "select r.*, to_char(submitted_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as "
    "sub, "
    "to_char(decided_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as dec, "
    "(select count(*) from steady.pair p where p.job_id = r.job_id and p.kind = 'measure' "
    "and p.done_at is not null and p.discarded is null) as sealed, "
    "(select count(*) from steady.pair p where p.job_id = r.job_id and p.try = 0) as planned "
    "from steady.experiment_row r "
    "where ($1 = '' or spec_id = $1) and ($2 = '' or state::text = $2) "
    "and ($3 = '' or outcome = $3) and ($4 = '' or owner = $4) and ($5 = '' or host = $5) "
    "and ($7 = 0 or exp_id < $7) order by exp_id desc limit $6";
inline constexpr const char* kListQueue =
    "select r.*, to_char(r.submitted_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as "
    "sub, "
    "null as dec, (select count(*) from steady.pair p where p.job_id = r.job_id "
    "and p.kind = 'measure' and p.done_at is not null and p.discarded is null) as sealed, "
    "(select count(*) from steady.pair p where p.job_id = r.job_id and p.try = 0) as planned "
    "from steady.experiment_row r join steady.job j using (job_id) "
    "where j.state in ('queued', 'running') order by j.state = 'running' desc, "
    "j.priority + extract(epoch from clock_timestamp() - j.queued_at) / 1800 desc, j.job_id";
inline constexpr const char* kListHosts =
    "select h.name, h.tags, h.draining, "
    "to_char(h.seen_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as seen, "
    "(select e.name from steady.job j join steady.experiment e using (exp_id) "
    "where j.state = 'running' and j.host_id = h.host_id) as job from steady.host h order by name";
inline constexpr const char* kHistory =
    "select d from (select d, at, pair_no from steady.aa_value a join steady.host h "
    "using (host_id) where h.name = $1 and a.metric = $2 and a.mode = $3 and a.model = $4 "
    "and a.gpu = $5 "
    "order by at desc, pair_no desc limit 60) latest order by at, pair_no";

// --- tokens ---
inline constexpr const char* kCreateToken =
    "insert into steady.token (name, sha, scopes, expires_at) "
    "values ($1, decode($2, 'hex'), $3::text[], nullif($4, '')::timestamptz)";
inline constexpr const char* kListTokens =
    "select name, encode(sha, 'hex'), scopes, created_at::text, coalesce(expires_at::text, ''), "
    "revoked_at is not null from steady.token order by name";
inline constexpr const char* kRevokeToken =
    "update steady.token set revoked_at = clock_timestamp() where name = $1 and revoked_at is null";
inline constexpr const char* kTokenScopes = "select steady.token_scopes(decode($1, 'hex'))";

}  // namespace steady::sql
