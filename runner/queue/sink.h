// Stores an experiment's results: in the spool first, then in the database under the job's lease.
// While the database is unreachable the call waits, as long as the lease is valid.
#pragma once

#include "runner/queue/lease.h"
#include "runner/queue/spool.h"
#include "runner/run/executor.h"

namespace steady {

class LeasedSink : public SampleSink {
public:
    LeasedSink(Store& store, const Lease& lease, const Record& record, const LeaseKeeper& keeper,
               Spool& spool)
        : store_(store), lease_(lease), record_(record), keeper_(keeper), spool_(spool) {}

    void put_pair(const Pair& pair) override;
    void put_prior(const Prior& prior) override;
    void put_applied(const ProgramReport& report) override;
    void put_correctness(const OutputsReport& report) override;
    void put_correctness_failure(const std::string& how) override;
    void put_profile(const protocol::ProfileReply& reply) override;
    void put_stacks(const StackProfile& stacks) override;

private:
    void put(const std::string& kind, const std::string& json);
    void be_patient();

    Store& store_;
    const Lease& lease_;
    const Record& record_;
    const LeaseKeeper& keeper_;
    Spool& spool_;
};

}  // namespace steady
