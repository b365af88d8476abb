// The verbs of `steady`. The table is in verbs.cpp; each verb is one function here, grouped by
// file.
#pragma once

#include <span>

#include "runner/cli/command_line.h"
#include "runner/platform/settings.h"

namespace steady {

std::span<const Verb> verbs();

// Options of this verb that are not given on the command line but set elsewhere:
// runner/platform/settings.h. Secrets stay where they are until they are needed.
void add_settings(const Verb& verb, Arguments& arguments);

// Its own meaning, else the help of the option that wins over it.
std::string setting_meaning(const Setting& setting);

// verbs_init.cpp: write and check a file
int verb_init(const Arguments& arguments);
int verb_validate(const Arguments& arguments);

// verbs_index.cpp: the table of a folder of questions
int verb_index(const Arguments& arguments);

// verbs_experiment.cpp: from a file to a verdict
int verb_plan(const Arguments& arguments);
int verb_run(const Arguments& arguments);
int verb_submit(const Arguments& arguments);
int verb_worker(const Arguments& arguments);
int verb_queue(const Arguments& arguments);
int verb_watch(const Arguments& arguments);
int verb_cancel(const Arguments& arguments);
int verb_rerun(const Arguments& arguments);

// verbs_ab.cpp: from two commands to a verdict
int verb_ab(const Arguments& arguments);
// Writes the file that the options of `ab` describe; its path.
std::string write_question(const Arguments& arguments);
// Options of `ab` that say what is asked; `bisect` takes them, too.
std::span<const Option> question_options();
std::span<const Option> import_options();

// verbs_bisect.cpp: from two revisions to a commit
int verb_bisect(const Arguments& arguments);

// verbs_sweep.cpp: from several values to one experiment
int verb_sweep(const Arguments& arguments);

// verbs_tune.cpp: this machine's own defaults of steady-engine
int verb_tune_defaults(const Arguments& arguments);

// verbs_record.cpp: what is known
int verb_show(const Arguments& arguments);
int verb_decide(const Arguments& arguments);
int verb_journal(const Arguments& arguments);
int verb_tried(const Arguments& arguments);
int verb_compare(const Arguments& arguments);
int verb_report(const Arguments& arguments);

// verbs_archive.cpp: from one database to another
int verb_export(const Arguments& arguments);
int verb_import(const Arguments& arguments);

// verbs_store.cpp: the store itself
int verb_fault_test(const Arguments& arguments);
int verb_token_create(const Arguments& arguments);
int verb_token_list(const Arguments& arguments);
int verb_token_revoke(const Arguments& arguments);
int verb_requeue(const Arguments& arguments);
int verb_priority(const Arguments& arguments);
int verb_unpin(const Arguments& arguments);
int verb_audit_log(const Arguments& arguments);
int verb_gc(const Arguments& arguments);

// verbs_audit.cpp: questions with a known answer
int verb_aa(const Arguments& arguments);
int verb_selftest(const Arguments& arguments);
int verb_disturb(const Arguments& arguments);

// verbs_doctor.cpp: this machine
int verb_doctor(const Arguments& arguments);

// verbs_demo.cpp: the first verdict
int verb_demo(const Arguments& arguments);

// verbs_track.cpp: the history
int verb_track(const Arguments& arguments);

// verbs_alerts.cpp: what people should hear of
int verb_alerts_list(const Arguments& arguments);
int verb_alerts_send(const Arguments& arguments);
int verb_alerts_set(const Arguments& arguments);

// verbs_program.cpp: programs of others
int verb_program_add(const Arguments& arguments);
int verb_program_list(const Arguments& arguments);
int verb_program_check(const Arguments& arguments);

// verbs_data.cpp: statistics, database, and the page, which is a program of its own
int verb_stats_check(const Arguments& arguments);
int verb_stats_simulate(const Arguments& arguments);
int verb_replay(const Arguments& arguments);
int verb_db_start(const Arguments& arguments);
int verb_db_stop(const Arguments& arguments);
int verb_db_status(const Arguments& arguments);
int verb_db_url(const Arguments& arguments);
int verb_db_psql(const Arguments& arguments);
int verb_db_dump(const Arguments& arguments);
int verb_db_migrate(const Arguments& arguments);
int verb_serve(const Arguments& arguments);

// verbs_config.cpp: what is set, and where
int verb_config_show(const Arguments& arguments);

// verbs_texts.cpp: about this program
int verb_version(const Arguments& arguments);
int verb_completion(const Arguments& arguments);
int verb_schema(const Arguments& arguments);
int verb_manual(const Arguments& arguments);

}  // namespace steady
